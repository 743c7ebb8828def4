package idempotency_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
	"github.com/millrace-go/millrace/sqltx"
)

type encoder interface {
	Encode(event.Event) (*message.Message, error)
}

func encode(t testing.TB, codec encoder, e event.Event) *message.Message {
	t.Helper()
	msg, err := codec.Encode(e)
	require.NoError(t, err)
	return msg
}

func newGuard[Tx any](t testing.TB, store driver.Store, cfg idempotency.Config) *idempotency.Guard[Tx] {
	t.Helper()
	cfg.Group = "g"
	g, err := idempotency.New[Tx](store, cfg)
	require.NoError(t, err)
	return g
}

func TestHandlersGetTheTransaction(t *testing.T) {
	store, db := database(t)
	duplicates := 0
	g := newGuard[*sql.Tx](t, store, idempotency.Config{OnDuplicate: func(context.Context, event.Event) { duplicates++ }})
	e := newEvent(t)
	type key struct{}
	for i, step := range []struct {
		codec encoder
		fails string
		sales int
	}{
		{event.Structured{}, "error", 0},
		{event.Structured{}, "panic", 0},
		{event.Binary{}, "", 1},
		{event.Structured{}, "", 1}, // the same event in the other encoding is a duplicate
	} {
		msg := encode(t, step.codec, e)
		msg.SetContext(context.WithValue(t.Context(), key{}, "mine"))
		h := g.Handle(func(ctx context.Context, tx *sql.Tx, got event.Event) error {
			if inside, ok := event.FromContext(ctx); !ok || inside.ID != e.ID || got.ID != e.ID || ctx.Value(key{}) != "mine" {
				t.Errorf("step %d: the handler got %v, its context holds %v, %v", i, got, inside, ok)
			}
			if err := sell(ctx, tx); err != nil {
				return err
			}
			switch step.fails {
			case "error":
				return errHandler
			case "panic":
				panic(errHandler)
			}
			return nil
		})
		err := func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = p.(error)
				}
			}()
			return h.HandleMessage(msg)
		}()
		if errors.Is(err, errHandler) != (step.fails != "") || err != nil && step.fails == "" || sales(t, db) != step.sales {
			t.Errorf("step %d: %v, %d sales; want %+v", i, err, sales(t, db), step)
		}
	}
	assert.Equal(t, 1, duplicates, "duplicates reported")
}

// TestStoresWithoutTheTransactionAreRefused: a store without a transaction of the handler's
// type is refused before there is a handler.
func TestStoresWithoutTheTransactionAreRefused(t *testing.T) {
	truth, _ := database(t)
	layer := func(truth driver.BatchStore) driver.BatchStore {
		l, err := idempotency.NewLayered(memidempotency.New(), truth, idempotency.LayeredConfig{})
		require.NoError(t, err)
		return l
	}
	for name, store := range map[string]driver.Store{
		"memory": memidempotency.New(), "memory behind a pre-check": layer(memidempotency.New()), "a wrapper that hides it": one{truth},
	} {
		_, err := idempotency.New[*sql.Tx](store, idempotency.Config{Group: "g"})
		if err == nil || !strings.Contains(err.Error(), "no transaction of type *sql.Tx") {
			t.Errorf("%s: %v", name, err)
		}
		newGuard[idempotency.NoTx](t, store, idempotency.Config{})
	}
	if _, err := idempotency.New[string](truth, idempotency.Config{Group: "g"}); err == nil || !strings.Contains(err.Error(), "type string") {
		t.Errorf("a store whose transactions are of another type: %v", err)
	}
	newGuard[*sql.Tx](t, truth, idempotency.Config{})
	newGuard[*sql.Tx](t, layer(truth), idempotency.Config{})
}

// lying is a store that claims to have transactions, and runs the handler outside of any.
type lying struct{ driver.SQLStore[*sql.Tx] }

func (lying) Tx(context.Context) (*sql.Tx, bool) { return nil, false }

func TestNoHandlerGetsANilTransaction(t *testing.T) {
	store, _ := database(t)
	g := newGuard[*sql.Tx](t, lying{store}, idempotency.Config{})
	never := func(context.Context, *sql.Tx) error { t.Error("the handler ran"); return nil }
	if _, err := g.Do(t.Context(), newEvent(t), never); err == nil || !strings.Contains(err.Error(), "without a transaction") {
		t.Errorf("Do: %v", err)
	}
	_, err := g.DoBatch(t.Context(), []event.Event{newEvent(t)}, func(ctx context.Context, tx *sql.Tx, _ []event.Event) error { return never(ctx, tx) })
	if err == nil || !strings.Contains(err.Error(), "without a transaction") {
		t.Errorf("DoBatch: %v", err)
	}
}

func TestByType(t *testing.T) {
	store, db := database(t)
	g := newGuard[*sql.Tx](t, store, idempotency.Config{})
	h := g.ByType(map[string]func(context.Context, *sql.Tx, event.Event) error{
		"PaymentSuccess": func(ctx context.Context, tx *sql.Tx, _ event.Event) error { return sell(ctx, tx) },
	})
	paid, other := newEvent(t), newEvent(t)
	other.Type = "PaymentFailed"
	for range 2 {
		require.NoError(t, errors.Join(h.HandleEvent(t.Context(), paid), h.HandleEvent(t.Context(), other)))
	}
	if !h.Handles("PaymentSuccess") || h.Handles("PaymentFailed") || h.Group() != "g" || sales(t, db) != 1 {
		t.Errorf("handles %v and %v, group %q, %d sales", h.Handles("PaymentSuccess"), h.Handles("PaymentFailed"), h.Group(), sales(t, db))
	}
	if seen, err := store.Seen(t.Context(), "g:"+other.ID); seen || err != nil {
		t.Errorf("the key of an event without a handler is recorded: %v, %v", seen, err)
	}
	assert.True(t, g.Handle(nil).Handles("anything"), "Handle does not handle every type")
}

func TestHandleBatch(t *testing.T) {
	store, db := database(t)
	g := newGuard[*sql.Tx](t, store, idempotency.Config{})
	var got [][]string
	h := g.HandleBatch(func(ctx context.Context, tx *sql.Tx, fresh []event.Event) error {
		got = append(got, types(fresh))
		return sell(ctx, tx)
	}, "PaymentSuccess")
	a, b := newEvent(t), newEvent(t)
	for _, batch := range [][]event.Event{{a}, {a, b, b}, {b}} {
		require.NoError(t, h.HandleEvents(t.Context(), batch))
	}
	if want := [][]string{{"PaymentSuccess"}, {"PaymentSuccess"}}; !slices.EqualFunc(got, want, slices.Equal) || sales(t, db) != 2 {
		t.Errorf("the handler got %v, %d sales; want %v", got, sales(t, db), want)
	}
	if h.Group() != "g" || !h.Handles("PaymentSuccess") || h.Handles("Other") || !g.HandleBatch(nil).Handles("Other") {
		t.Error("the group or the types are wrong")
	}
}

// TestHandlersFitBothConsumers: a handler of single events takes a batch one by one, and a handler
// of batches takes an event as a batch of one.
func TestHandlersFitBothConsumers(t *testing.T) {
	store, db := database(t)
	g := newGuard[*sql.Tx](t, store, idempotency.Config{})
	a, b, c, other := newEvent(t), newEvent(t), newEvent(t), newEvent(t)
	other.Type = "PaymentFailed"
	fails := true
	one := g.ByType(map[string]func(context.Context, *sql.Tx, event.Event) error{
		"PaymentSuccess": func(ctx context.Context, tx *sql.Tx, e event.Event) error {
			if e.ID == b.ID && fails {
				return errHandler
			}
			return sell(ctx, tx)
		},
	})
	if err := one.HandleEvents(t.Context(), []event.Event{a, other, b, c}); !errors.Is(err, errHandler) || sales(t, db) != 1 {
		t.Errorf("a batch whose third event fails: %v, %d sales; want the error after 1", err, sales(t, db))
	}
	fails = false
	if err := one.HandleEvents(t.Context(), []event.Event{a, other, b, c}); err != nil || sales(t, db) != 3 {
		t.Errorf("the batch again: %v, %d sales; want 3", err, sales(t, db))
	}
	d := newEvent(t)
	batch := g.HandleBatch(func(ctx context.Context, tx *sql.Tx, fresh []event.Event) error {
		if len(fresh) != 1 || fresh[0].ID != d.ID {
			t.Errorf("the handler got %v", fresh)
		}
		return sell(ctx, tx)
	}, "PaymentSuccess")
	for range 2 {
		if err := errors.Join(batch.HandleEvent(t.Context(), d), batch.HandleEvent(t.Context(), other)); err != nil || sales(t, db) != 4 {
			t.Errorf("one event: %v, %d sales; want 4", err, sales(t, db))
		}
	}
}

func TestHandleMessageDecodes(t *testing.T) {
	g := newGuard[idempotency.NoTx](t, memidempotency.New(), idempotency.Config{})
	never := func(context.Context, idempotency.NoTx, event.Event) error {
		t.Error("the handler ran")
		return nil
	}
	if err := g.Handle(never).HandleMessage(message.NewMessage("1", []byte("{"))); fault.Of(err) != fault.Permanent {
		t.Errorf("no event at all: %v (%v), want a permanent error", err, fault.Of(err))
	}
	// Config.Decode can have a limit of its own.
	e := newEvent(t)
	e.Data = []byte(`"` + strings.Repeat("x", 2000) + `"`)
	msg := encode(t, event.Structured{}, e)
	small := newGuard[idempotency.NoTx](t, memidempotency.New(), idempotency.Config{Decode: func(msg *message.Message) (event.Event, error) {
		return event.DecodeUpTo(msg, 1000)
	}})
	if err := small.Handle(never).HandleMessage(msg); err == nil || !strings.Contains(err.Error(), "larger than the codec allows") {
		t.Errorf("an event above the codec's limit: %v, want that it is too large", err)
	}
}

// TestHandlersDoJoins: a sqltx.Do inside the handler joins the guard's.
func TestHandlersDoJoins(t *testing.T) {
	store, db := database(t)
	g := newGuard[*sql.Tx](t, store, idempotency.Config{})
	err := g.Handle(func(ctx context.Context, guards *sql.Tx, _ event.Event) error {
		err := sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
			if tx != guards {
				t.Error("sqltx.Do began another transaction than the guard's")
			}
			return sell(ctx, tx)
		})
		return errors.Join(err, errHandler)
	}).HandleEvent(t.Context(), newEvent(t))
	if !errors.Is(err, errHandler) || sales(t, db) != 0 {
		t.Errorf("%v with %d sales; the handler's own transaction was committed apart from the key", err, sales(t, db))
	}
}
