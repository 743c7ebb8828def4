package idempotency_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
)

func TestDoBatch(t *testing.T) {
	store, db := database(t)
	var duplicates []string
	g := newGuard[*sql.Tx](t, store, idempotency.Config{OnDuplicate: func(_ context.Context, e event.Event) {
		duplicates = append(duplicates, e.Type)
	}})
	a, b, c := newEvent(t), newEvent(t), newEvent(t)
	a.Type, b.Type, c.Type = "A", "B", "C"
	_, err := g.Do(t.Context(), b, sell)
	require.NoError(t, err)
	batch := []event.Event{c, a, b, c}
	for i, step := range []struct {
		err   error
		fresh []string
		sales int
	}{{errHandler, nil, 1}, {nil, []string{"C", "A"}, 3}, {nil, nil, 3}} {
		duplicates = nil
		fresh, err := g.DoBatch(t.Context(), batch, func(ctx context.Context, tx *sql.Tx, fresh []event.Event) error {
			assert.Equal(t, []string{"C", "A"}, types(fresh), "the handler")
			for range fresh {
				if err := sell(ctx, tx); err != nil {
					return err
				}
			}
			return step.err
		})
		if !slices.Equal(types(fresh), step.fresh) || !errors.Is(err, step.err) || step.err == nil && err != nil || sales(t, db) != step.sales {
			t.Errorf("step %d: %v, %v, %d sales; want %+v", i, types(fresh), err, sales(t, db), step)
		}
		if want := [][]string{nil, {"B", "C"}, {"C", "A", "B", "C"}}[i]; !slices.Equal(duplicates, want) {
			t.Errorf("step %d: duplicates %v, want %v", i, duplicates, want)
		}
	}
	_, err = g.DoBatch(t.Context(), []event.Event{newEvent(t), {Type: "T"}}, func(context.Context, *sql.Tx, []event.Event) error {
		t.Error("the handler ran")
		return nil
	})
	if fault.Of(err) != fault.Permanent || !strings.Contains(err.Error(), "the T event has no id") {
		t.Errorf("a batch with an event without an id: %v (%v)", err, fault.Of(err))
	}
}

func types(events []event.Event) (out []string) {
	for _, e := range events {
		out = append(out, e.Type)
	}
	return out
}

// one hides the batch methods of the store.
type one struct{ driver.Store }

func TestDoBatchNeedsABatchStore(t *testing.T) {
	g := newGuard[idempotency.NoTx](t, one{memidempotency.New()}, idempotency.Config{})
	if _, err := g.DoBatch(t.Context(), []event.Event{newEvent(t)}, nil); err == nil {
		t.Error("DoBatch on a store without batches gave no error")
	}
}
