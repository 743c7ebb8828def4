// Package stats counts the box office's events, from the events alone: a consumer
// group adds each event to its counter, in the transaction that also notes the event
// as handled. So the counters equal the rows of the tables they count as soon as
// nothing is in flight, and stay equal under redelivery and crashes.
//
//	counter                  event                  adds
//	reservations_created     ReservationCreated     1
//	reservations_confirmed   ReservationConfirmed   1
//	reservations_cancelled   ReservationCancelled   1
//	refund_amount            PaymentRefunded        its amount, in won
//	transfers_completed      TransferCompleted      1
//	transfer_amount          TransferCompleted      its amount, in won
//	transfers_cancelled      TransferCancelled      1
//	memberships              MembershipActivated    1
//
//	property                                    proven by
//	each type of event adds to its counter      TestCounters
//	a malformed event is a permanent error      TestMalformed
package stats

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
)

//go:embed sql/stats.sql
var statsSQL string

// Stats counts. It is safe for concurrent use.
type Stats struct {
	store *store.Store
	sql   struct{ Add, All string }
}

// New makes Stats on an open store.
func New(s *store.Store) (*Stats, error) {
	st := &Stats{store: s}
	if err := s.Load(statsSQL, &st.sql); err != nil {
		return nil, fmt.Errorf("stats: %w", err)
	}
	return st, nil
}

// All returns every counter by name.
func (s *Stats) All(ctx context.Context) (map[string]int64, error) {
	rows, err := s.store.Reader().QueryContext(ctx, s.sql.All)
	if err != nil {
		return nil, fmt.Errorf("stats: read: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	all := map[string]int64{}
	for rows.Next() {
		var name string
		var value int64
		if err := rows.Scan(&name, &value); err != nil {
			return nil, fmt.Errorf("stats: read: %w", err)
		}
		all[name] = value
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("stats: read: %w", err)
	}
	return all, nil
}

// Consumers is one group on four topics.
func (s *Stats) Consumers() []store.Consumer {
	const group = events.GroupStats
	return []store.Consumer{
		{Topic: events.Payments, Group: group, Handlers: map[string]store.Handler{
			events.PaymentRefunded: s.refunded,
		}},
		{Topic: events.Reservations, Group: group, Handlers: map[string]store.Handler{
			events.ReservationCreated:   s.one("reservations_created"),
			events.ReservationConfirmed: s.one("reservations_confirmed"),
			events.ReservationCancelled: s.one("reservations_cancelled"),
		}},
		{Topic: events.Transfers, Group: group, Handlers: map[string]store.Handler{
			events.TransferCompleted: s.transferred,
			events.TransferCancelled: s.one("transfers_cancelled"),
		}},
		{Topic: events.Memberships, Group: group, Handlers: map[string]store.Handler{
			events.MembershipActivated: s.one("memberships"),
		}},
	}
}

func (s *Stats) one(name string) store.Handler {
	return func(ctx context.Context, tx *sql.Tx, _ event.Event) (string, error) {
		return "counted", s.add(ctx, tx, name, 1)
	}
}

func (s *Stats) refunded(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	var back events.PaidBack
	if err := e.UnmarshalData(&back); err != nil {
		return "", fault.MarkPermanent(err)
	}
	return "counted", s.add(ctx, tx, "refund_amount", back.Amount)
}

func (s *Stats) transferred(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	var t events.Transferred
	if err := e.UnmarshalData(&t); err != nil {
		return "", fault.MarkPermanent(err)
	}
	if err := s.add(ctx, tx, "transfer_amount", t.Amount); err != nil {
		return "", err
	}
	return "counted", s.add(ctx, tx, "transfers_completed", 1)
}

func (s *Stats) add(ctx context.Context, tx *sql.Tx, name string, n int64) error {
	res, err := tx.ExecContext(ctx, s.sql.Add, name, n)
	if err != nil {
		return fmt.Errorf("stats: add to %s: %w", name, err)
	}
	rows, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("stats: add to %s: %w", name, err)
	}
	if rows != 1 {
		return fmt.Errorf("stats: the counter %s is missing; the migrations make it", name)
	}
	return nil
}
