package payment

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/notices"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// notices notify the members about a transfer.
func (d *desk) notices(ctx context.Context, tx *sql.Tx, t Transfer, outcome string, at int64, members ...string) ([]event.Event, error) {
	title, seats, err := d.ticketOf(ctx, tx, t.ReservationID)
	if err != nil {
		return nil, err
	}
	all := make([]event.Event, len(members))
	for i, member := range members {
		params := events.NoticeParams{Member: t.From, Show: title, Seats: seats, Outcome: outcome}
		if member == t.From {
			params.Member = t.To
		}
		all[i], err = events.New(events.TransferNotice, "notice", t.ID, member, true, events.Noticed{
			MemberID: member, RefID: t.ID, Params: params, At: events.Time(at), Message: notices.Text("en", notices.Transfer, params, ""),
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ticketOf is the title and the seats of a reservation.
func (d *desk) ticketOf(ctx context.Context, tx *sql.Tx, reservation string) (title string, seats []string, err error) {
	err = store.Each(ctx, tx, d.sql.SeatsOf, []any{reservation}, func(row *sql.Rows) error {
		var seat string
		err := row.Scan(&title, &seat)
		seats = append(seats, seat)
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("payment: seats of %s: %w", reservation, err)
	}
	return title, seats, nil
}
