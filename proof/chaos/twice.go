package chaos

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
)

// publishedTwice reads from the transport's own table how many messages there
// are, and how many of them repeat an earlier one. It only reads.
func (s *stage) publishedTwice(ctx context.Context) (messages, repeated int, err error) {
	db, err := sqliteoutbox.OpenReader(filepath.Join(s.dir, "boxoffice.db"), 1)
	if err != nil {
		return 0, 0, fmt.Errorf("read the transport's table: %w", err)
	}
	defer db.Close() //nolint:errcheck // a reader has nothing to lose
	err = db.QueryRowContext(ctx, `SELECT COUNT(*), COUNT(*) - COUNT(DISTINCT message_id) FROM bus_messages`).Scan(&messages, &repeated)
	if err != nil {
		return 0, 0, fmt.Errorf("read the transport's table: %w", err)
	}
	return messages, repeated, nil
}

// judge adds the checks that need this package's knowledge. The audit checks that
// every effect happened once; judge checks that this was tested at all. A relay that
// died between publish and cursor leaves at least one message that the next relay
// publishes again, and that consumers skip. Without such repeats the deaths missed
// their moment and prove nothing.
func (s *stage) judge(ctx context.Context, a act) error {
	messages, repeated, err := s.publishedTwice(ctx)
	if err != nil {
		return err
	}
	ops, err := s.office.Ops(ctx)
	if err != nil {
		return err
	}
	skipped := 0
	for _, c := range ops.Consumers {
		skipped += int(c.Duplicates)
	}
	s.extra = append(s.extra, judge.Control(a.tested, messages > 0 && repeated >= a.repeats && skipped >= a.repeats,
		"%d messages on the transport, %d of them repeats; %d skipped by consumers since their start", messages, repeated, skipped))
	return nil
}
