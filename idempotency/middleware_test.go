package idempotency_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
	"github.com/millrace-go/millrace/sqltx"
)

func encode(t testing.TB, codec event.Codec, e event.Event) *message.Message {
	t.Helper()
	msg, err := codec.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

func newGuard(t testing.TB, store idempotency.Store, cfg idempotency.Config) *idempotency.Guard {
	t.Helper()
	cfg.Group = "g"
	g, err := idempotency.New(store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestMiddleware(t *testing.T) {
	store, db := database(t)
	duplicates := 0
	g := newGuard(t, store, idempotency.Config{OnDuplicate: func(context.Context, event.Event) { duplicates++ }})
	e := newEvent(t)
	type key struct{}
	for i, step := range []struct {
		codec event.Codec
		fails string
		sales int
	}{
		{event.Structured{}, "error", 0},
		{event.Structured{}, "panic", 0},
		{event.Binary{}, "", 1},
		{event.Structured{}, "", 1}, // the same event in the other encoding is a duplicate
	} {
		msg := encode(t, step.codec, e)
		before := context.WithValue(t.Context(), key{}, "mine")
		msg.SetContext(before)
		h := g.Middleware(func(msg *message.Message) ([]*message.Message, error) {
			if got, ok := idempotency.EventFrom(msg.Context()); !ok || got.ID != e.ID || msg.Context().Value(key{}) != "mine" {
				t.Errorf("step %d: the handler's context holds %v, %v", i, got, ok)
			}
			if err := sell(msg.Context()); err != nil {
				return nil, err
			}
			switch step.fails {
			case "error":
				return nil, errHandler
			case "panic":
				panic(errHandler)
			}
			return nil, nil
		})
		produced, err := func() (_ []*message.Message, err error) {
			defer func() {
				if p := recover(); p != nil {
					err = p.(error)
				}
			}()
			return h(msg)
		}()
		if produced != nil || errors.Is(err, errHandler) != (step.fails != "") || sales(t, db) != step.sales {
			t.Errorf("step %d: %v, %v, %d sales; want %+v", i, produced, err, sales(t, db), step)
		}
		if msg.Context() != before {
			t.Errorf("step %d: the message kept the handler's context", i)
		}
	}
	if duplicates != 1 {
		t.Errorf("%d duplicates reported, want 1", duplicates)
	}
}

// What the router would publish after the commit could be lost by a crash.
func TestMiddlewareRefusesMessages(t *testing.T) {
	store, db := database(t)
	g := newGuard(t, store, idempotency.Config{})
	msg := encode(t, event.Structured{}, newEvent(t))
	produced, err := g.Middleware(func(msg *message.Message) ([]*message.Message, error) {
		return []*message.Message{msg.Copy()}, sell(msg.Context())
	})(msg)
	if produced != nil || !errors.Is(err, idempotency.ErrProduced) || fault.Of(err) != fault.Permanent || sales(t, db) != 0 {
		t.Errorf("a producing handler: %v, %v (%v), %d sales; want a permanent ErrProduced and a rollback",
			produced, err, fault.Of(err), sales(t, db))
	}
}

func TestMiddlewareDecodes(t *testing.T) {
	g := newGuard(t, memidempotency.New(), idempotency.Config{})
	never := func(*message.Message) ([]*message.Message, error) {
		t.Error("the handler ran")
		return nil, nil
	}
	if _, err := g.Middleware(never)(message.NewMessage("1", []byte("{"))); fault.Of(err) != fault.Permanent {
		t.Errorf("no event at all: %v (%v), want a permanent error", err, fault.Of(err))
	}
	// A codec of one's own sets its own limit.
	e := newEvent(t)
	e.Data = []byte(`"` + strings.Repeat("x", 2000) + `"`)
	msg := encode(t, event.Structured{}, e)
	small := newGuard(t, memidempotency.New(), idempotency.Config{Codec: event.Structured{MaxSize: 1000}})
	if _, err := small.Middleware(never)(msg); !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("an event above the codec's limit: %v, want ErrTooLarge", err)
	}
}

// The handler's own sqltx.Do, as business code has it, joins the guard's.
func TestHandlersDoJoins(t *testing.T) {
	store, db := database(t)
	g := newGuard(t, store, idempotency.Config{})
	msg := encode(t, event.Structured{}, newEvent(t))
	_, err := g.Middleware(func(msg *message.Message) ([]*message.Message, error) {
		err := sqltx.Do(msg.Context(), db, func(ctx context.Context, _ *sql.Tx) error { return sell(ctx) })
		return nil, errors.Join(err, errHandler)
	})(msg)
	if !errors.Is(err, errHandler) || sales(t, db) != 0 {
		t.Errorf("%v with %d sales; the handler's own transaction was committed apart from the key", err, sales(t, db))
	}
}
