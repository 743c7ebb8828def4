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
	"maps"
	"slices"

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
	all := map[string]int64{}
	err := store.Each(ctx, s.store.Reader(), s.sql.All, nil, func(row *sql.Rows) error {
		var name string
		var value int64
		err := row.Scan(&name, &value)
		all[name] = value
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("stats: read: %w", err)
	}
	return all, nil
}

// Consumers is one group on four topics. It counts a batch at a time: each event on its
// own would wait for the commit of the one before, which holds the same counter's row. A
// batch is what came while the one before was counted: an event alone does not wait.
func (s *Stats) Consumers() []store.Consumer {
	consumer := func(topic string, types ...string) store.Consumer {
		return store.Consumer{Topic: topic, Group: events.GroupStats, BatchTypes: types, Batch: s.count, Check: readable, Wait: -1}
	}
	return []store.Consumer{
		consumer(events.Payments, events.PaymentRefunded),
		consumer(events.Reservations, events.ReservationCreated, events.ReservationConfirmed, events.ReservationCancelled),
		consumer(events.Transfers, events.TransferCompleted, events.TransferCancelled),
		consumer(events.Memberships, events.MembershipActivated),
	}
}

// count adds up a batch, and adds to each counter once.
func (s *Stats) count(ctx context.Context, tx *sql.Tx, all []event.Event) (string, error) {
	sums := map[string]int64{}
	for _, e := range all {
		if err := addTo(sums, e); err != nil {
			return "", err
		}
	}
	// In one order, so that two batches do not wait for each other.
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if err := s.add(ctx, tx, name, sums[name]); err != nil {
			return "", err
		}
	}
	return "counted", nil
}

func readable(e event.Event) error { return addTo(map[string]int64{}, e) }

// addTo adds an event to the counters of its type.
func addTo(sums map[string]int64, e event.Event) error {
	switch e.Type {
	case events.ReservationCreated:
		sums["reservations_created"]++
	case events.ReservationConfirmed:
		sums["reservations_confirmed"]++
	case events.ReservationCancelled:
		sums["reservations_cancelled"]++
	case events.TransferCancelled:
		sums["transfers_cancelled"]++
	case events.MembershipActivated:
		sums["memberships"]++
	case events.PaymentRefunded:
		var back events.PaidBack
		if err := e.UnmarshalData(&back); err != nil {
			return fault.MarkPermanent(err)
		}
		sums["refund_amount"] += back.Amount
	case events.TransferCompleted:
		var t events.Transferred
		if err := e.UnmarshalData(&t); err != nil {
			return fault.MarkPermanent(err)
		}
		sums["transfer_amount"] += t.Amount
		sums["transfers_completed"]++
	}
	return nil
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
