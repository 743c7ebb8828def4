package idempotency

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/event"
)

// ErrNoTransaction is returned by [BatchStore.Fresh] outside a transaction: the keys would be
// recorded even if the effects are rolled back.
var ErrNoTransaction = errors.New("idempotency: Fresh needs the transaction of the effects; call it inside sqltx.Do on the store's database, or use DoBatch")

// BatchStore is a [Store] that claims many keys in one statement.
type BatchStore interface {
	Store
	// OnceBatch records the new keys, in a transaction begun or joined as by Once, and runs fn
	// with the positions of their records, in the given order. A repeated key is new once, at
	// its first position. If no key is new, fn does not run. OnceBatch returns the positions;
	// an error of fn is returned unchanged, and leaves no key.
	OnceBatch(ctx context.Context, records []Record, fn func(ctx context.Context, fresh []int) error) (fresh []int, err error)
	// Fresh records the new keys in the transaction that ctx carries, and returns the positions
	// of their records, as OnceBatch does. Keys and effects become visible when that
	// transaction commits. Outside a transaction Fresh returns [ErrNoTransaction].
	Fresh(ctx context.Context, records []Record) (fresh []int, err error)
}

// DoBatch runs fn once with the events whose keys are new for this group, in their order, and
// returns them. A key that is repeated in the batch is new once. Keys and effects are one
// transaction, which fn gets as in [Guard.Do]. If fn fails, all of it is rolled back, and the
// whole batch can be retried. Like the function of [Guard.Do], fn can run more than once in one
// call, each time with the events that are new by then. If no event is new, fn does not run. An
// event without a key refuses the batch with a permanent error; remove the event and retry
// ([Guard.Check] finds it).
//
// The store must be a [BatchStore]. All stores of this module are, except Redis alone.
func (g *Guard[Tx]) DoBatch(ctx context.Context, events []event.Event, fn func(ctx context.Context, tx Tx, fresh []event.Event) error) (fresh []event.Event, err error) {
	if err := g.belongs(ctx); err != nil {
		return nil, err
	}
	records := make([]Record, len(events))
	for i, e := range events {
		if records[i], err = g.cfg.record(e); err != nil {
			return nil, err
		}
	}
	store, ok := g.store.(BatchStore)
	if !ok {
		return nil, fmt.Errorf("idempotency: the store %T claims one key at a time; use Do for each event, or a store that is a BatchStore", g.store)
	}
	pick := func(positions []int) []event.Event {
		picked := make([]event.Event, len(positions))
		for i, p := range positions {
			picked[i] = events[p]
		}
		return picked
	}
	positions, err := store.OnceBatch(ctx, records, func(ctx context.Context, positions []int) error {
		tx, err := g.begun(ctx)
		if err != nil {
			return err
		}
		return fn(ctx, tx, pick(positions))
	})
	if err != nil {
		g.counts.failed.Add(int64(len(events)))
		return nil, err
	}
	g.counts.handled.Add(int64(len(positions)))
	g.counts.duplicates.Add(int64(len(events) - len(positions)))
	if g.cfg.OnDuplicate != nil {
		next := 0
		for i, e := range events {
			if next < len(positions) && positions[next] == i {
				next++
				continue
			}
			g.cfg.OnDuplicate(ctx, e)
		}
	}
	return pick(positions), nil
}

// Check returns the permanent error with which Do would refuse e because it has no key, or nil.
func (g *Guard[Tx]) Check(e event.Event) error {
	_, err := g.cfg.record(e)
	return err
}
