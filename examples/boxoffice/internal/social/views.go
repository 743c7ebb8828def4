package social

import (
	"context"
	"database/sql"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// Views are the visits of the shows' pages.
type Views struct{ *desk }

// View records a view of a show's page, by a member or an unknown visitor ("").
func (v *Views) View(ctx context.Context, member, show string) error {
	if err := v.catalog.Exists(ctx, show); err != nil {
		return err
	}
	return v.write(ctx, "view", func(ctx context.Context, tx *sql.Tx) error {
		seen, err := events.New(events.ShowViewed, "product", show, member, false,
			events.Viewed{MemberID: member, ViewedAt: time.Now().UTC()})
		if err != nil {
			return err
		}
		return v.outbox.Append(ctx, tx, seen)
	})
}
