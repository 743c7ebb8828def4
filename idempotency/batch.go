package idempotency

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/idempotency/driver"
)

// DoBatch runs fn once with the events whose keys are new for this group, in their order, and
// returns them. A key that is repeated in the batch is new once. Keys and effects are one
// transaction, which fn gets as in [Guard.Do]. If fn fails, all of it is rolled back, and the
// whole batch can be retried. Like the function of [Guard.Do], fn can run more than once in one
// call, each time with the events that are new by then. If no event is new, fn does not run. An
// event without a key refuses the batch with the permanent error of Config.Key, which names the
// event; remove the event and retry.
//
// The store must be a [driver.BatchStore]. All stores of this module are, except Redis alone.
func (g *Guard[Tx]) DoBatch(ctx context.Context, events []event.Event, fn func(ctx context.Context, tx Tx, fresh []event.Event) error) (fresh []event.Event, err error) {
	if err := g.belongs(ctx); err != nil {
		return nil, err
	}
	records := make([]driver.Record, len(events))
	for i, e := range events {
		if records[i], err = g.cfg.record(e); err != nil {
			return nil, err
		}
	}
	store, ok := g.store.(driver.BatchStore)
	if !ok {
		return nil, fmt.Errorf("idempotency: the store %T claims one key at a time; use Do for each event, or a store that is a BatchStore", g.store)
	}
	positions, err := store.OnceBatch(ctx, records, func(ctx context.Context, positions []int) error {
		tx, err := g.begun(ctx)
		if err != nil {
			return err
		}
		return fn(ctx, tx, pick(events, positions))
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
	return pick(events, positions), nil
}
