package millrace_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	idempotencydriver "github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqlite"
)

func TestEventIsHandledOnce(t *testing.T) {
	each(t, func(k *kit) {
		got := make(chan Placed, 10)
		millrace.Handle(k.app, "totals", func(ctx context.Context, tx *sql.Tx, p Placed) error {
			got <- p
			if e := millrace.Meta(ctx); e.Source != "shop" || e.AggregateType != "order" || e.AggregateID != "c-1" || e.Version != "v1" {
				k.Errorf("the envelope is %+v", e)
			}
			return effect(ctx, tx)
		})
		stop := k.run()
		k.emit(Placed{"o-1", 1200})
		if p := wait(k, "the handler", got); p != (Placed{"o-1", 1200}) {
			k.Errorf("it gets %+v", p)
		}
		stop()
		if n := k.effects(); n != 1 {
			k.Errorf("%d effects", n)
		}
	})
}

func TestRolledBackEventIsGone(t *testing.T) {
	each(t, func(k *kit) {
		got := make(chan string, 10)
		millrace.Handle(k.app, "totals", func(_ context.Context, _ *sql.Tx, p Placed) error { got <- p.ID; return nil })
		no := errors.New("no")
		err := k.app.Do(k.Context(), func(ctx context.Context, tx *sql.Tx) error {
			return errors.Join(k.app.Emit(ctx, tx, Placed{"o-1", 1}), no)
		})
		if !errors.Is(err, no) {
			k.Errorf("Do returns %v", err)
		}
		stop := k.run()
		k.emit(Placed{"o-2", 1})
		if id := wait(k, "the handler", got); id != "o-2" {
			k.Errorf("it gets %s", id)
		}
		stop()
	})
}

// last returns a channel that signals the event behind all others of its key.
func last(k *kit, group string) <-chan bool {
	c := make(chan bool, 10)
	millrace.Handle(k.app, group, func(context.Context, *sql.Tx, Paid) error { c <- true; return nil })
	return c
}

func placed(t testing.TB, version, data string) event.Event {
	e, err := event.New("Placed", "elsewhere", json.RawMessage(data))
	require.NoError(t, err)
	e.AggregateID, e.Version = "c-1", version
	return e
}

func TestSecondDeliveryHasNoEffect(t *testing.T) {
	each(t, func(k *kit) {
		var calls atomic.Int32
		millrace.Handle(k.app, "totals", func(ctx context.Context, tx *sql.Tx, p Placed) error {
			calls.Add(1)
			return effect(ctx, tx)
		})
		end := last(k, "totals")
		k.deliver(placed(k, "v1", `{"ID":"o-1"}`), 3)
		k.emit(Paid{"o-1"})
		stop := k.run()
		wait(k, "the last event", end)
		stop()
		if calls.Load() != 1 || k.effects() != 1 {
			k.Errorf("%d calls, %d effects", calls.Load(), k.effects())
		}
	})
}

func TestFailedHandlerLeavesNothing(t *testing.T) {
	each(t, func(k *kit) {
		var calls atomic.Int32
		soonAgain := func(c *bus.Consumer) { c.Retry = bus.FixedRetry(time.Millisecond, 3) }
		millrace.Handle(k.app, "totals", func(ctx context.Context, tx *sql.Tx, p Placed) error {
			err := errors.Join(effect(ctx, tx), k.app.Emit(ctx, tx, Paid{p.ID}))
			if calls.Add(1) < 3 {
				return errors.Join(err, errors.New("not yet"))
			}
			return err
		}, soonAgain)
		followed := make(chan bool, 10)
		millrace.Handle(k.app, "mail", func(ctx context.Context, tx *sql.Tx, p Paid) error { followed <- true; return effect(ctx, tx) })
		stop := k.run()
		k.emit(Placed{"o-1", 1})
		wait(k, "what the handler emitted", followed)
		stop()
		if calls.Load() != 3 || k.effects() != 2 || len(followed) > 0 {
			k.Errorf("%d calls, %d effects, %d further events", calls.Load(), k.effects(), len(followed))
		}
	})
}

func TestHandlerEmits(t *testing.T) {
	each(t, func(k *kit) {
		ids := make(chan event.Event, 2)
		millrace.Handle(k.app, "totals", func(ctx context.Context, tx *sql.Tx, p Placed) error {
			ids <- millrace.Meta(ctx)
			return k.app.Emit(ctx, tx, Paid{p.ID})
		})
		millrace.Handle(k.app, "totals", func(ctx context.Context, _ *sql.Tx, p Paid) error { ids <- millrace.Meta(ctx); return nil })
		stop := k.run()
		k.emit(Placed{"o-1", 1})
		first, second := wait(k, "the first event", ids), wait(k, "the second", ids)
		if second.Type != "Paid" || second.CausationID != first.ID {
			k.Errorf("%s is caused by %q, want %q", second.Type, second.CausationID, first.ID)
		}
		stop()
	})
}

func TestBatch(t *testing.T) {
	each(t, func(k *kit) {
		got := make(chan []Placed, 10)
		millrace.HandleBatch(k.app, "views", func(ctx context.Context, tx *sql.Tx, all []Placed) error {
			got <- all
			return effect(ctx, tx)
		}, func(b *bus.BatchConsumer) { b.Size, b.Wait = 4, soon })
		k.emit(Placed{"o-1", 1}, Placed{"o-2", 2}, Paid{"ignored"}, Placed{"o-3", 3}) // four to a batch
		stop := k.run()
		if all := wait(k, "the batch", got); !slices.Equal(all, []Placed{{"o-1", 1}, {"o-2", 2}, {"o-3", 3}}) {
			k.Errorf("it has %+v", all)
		}
		stop()
		if n := k.effects(); n != 1 {
			k.Errorf("%d effects", n)
		}
	})
}

func TestOutside(t *testing.T) {
	each(t, func(k *kit) {
		var calls atomic.Int32
		millrace.HandleOutside(k.app, "mail", func(ctx context.Context, p Placed) error {
			if p.ID != "o-1" || millrace.Meta(ctx).ID == "" {
				k.Errorf("it gets %+v of %+v", p, millrace.Meta(ctx))
			}
			calls.Add(1)
			return nil
		})
		end := last(k, "mail")
		k.deliver(placed(k, "v1", `{"ID":"o-1"}`), 3)
		k.emit(Paid{"o-1"})
		stop := k.run()
		wait(k, "the last event", end)
		stop()
		if calls.Load() != 1 {
			k.Errorf("%d calls", calls.Load())
		}
	})
}

// TestOldLeasesArePruned: Run deletes what HandleOutside recorded, as it deletes the other keys.
func TestOldLeasesArePruned(t *testing.T) {
	servicetest.Embedded(t)
	path := filepath.Join(t.TempDir(), "app.db")
	pruned := make(chan int, 1)
	app, err := millrace.New(watched{sqlite.Open(path), pruned},
		millrace.Config{Service: "shop", Keys: idempotency.PrunerConfig{Retention: time.Nanosecond, Interval: time.Millisecond}})
	require.NoError(t, err)
	t.Cleanup(func() { check(t, app.Close()) })
	require.NoError(t, app.Migrate(t.Context()))
	millrace.HandleOutside(app, "mail", func(context.Context, Placed) error { return nil })
	k := &kit{T: t, app: app}
	defer k.run()()
	k.emit(Placed{"o-1", 1200})
	require.Equal(t, 1, wait(k, "the end of the lease's retention", pruned))
}

// watched is a database that says how many leases were pruned.
type watched struct {
	millrace.Database[*sql.Tx]
	pruned chan<- int
}

func (w watched) Stores() (*driver.Stores[*sql.Tx], error) {
	s, err := w.Database.Stores()
	s.Leases = watchedLeases{s.Leases, w.pruned}
	return s, err
}

type watchedLeases struct {
	idempotencydriver.LeaseStore
	pruned chan<- int
}

func (w watchedLeases) Prune(ctx context.Context, age time.Duration, limit int) (int, error) {
	n, err := w.LeaseStore.Prune(ctx, age, limit)
	if n > 0 {
		w.pruned <- n
	}
	return n, err
}

// Grown is Placed in its third version.
type Grown struct{ Number, Currency string }

func (Grown) Spec() millrace.Spec {
	return millrace.Spec{Topic: "orders", Type: "Placed", Key: "c-1", Version: "v3"}
}

func (Grown) Upcast(version string, data []byte) (string, []byte, error) {
	switch version {
	case "v1": // ID was renamed
		return "v2", []byte(strings.Replace(string(data), `"ID"`, `"Number"`, 1)), nil
	case "v2": // amounts had no currency
		return "v3", []byte(strings.Replace(string(data), `{`, `{"Currency":"EUR",`, 1)), nil
	}
	return "", nil, errors.New("there was no such version")
}

func TestUpcast(t *testing.T) {
	each(t, func(k *kit) {
		got := make(chan Grown, 10)
		letters := make(chan error, 1)
		millrace.Handle(k.app, "totals", func(_ context.Context, _ *sql.Tx, g Grown) error { got <- g; return nil },
			func(c *bus.Consumer) {
				c.Hooks.OnDeadLetter = func(d bus.Report) { letters <- d.Err }
			})
		end := last(k, "totals")
		k.deliver(placed(k, "v1", `{"ID":"o-1"}`), 1)
		k.deliver(placed(k, "v2", `{"Number":"o-2"}`), 1)
		k.deliver(placed(k, "v0", `{}`), 1)
		k.emit(Grown{"o-3", "USD"}, Paid{"o-3"})
		stop := k.run()
		wait(k, "the last event", end)
		for _, want := range []Grown{{"o-1", "EUR"}, {"o-2", "EUR"}, {"o-3", "USD"}} {
			if g := wait(k, "an event", got); g != want {
				k.Errorf("it gets %+v, want %+v", g, want)
			}
		}
		if err := wait(k, "the dead letter", letters); fault.Of(err) != fault.Permanent || !strings.Contains(err.Error(), "from version v0: there was no such version") {
			k.Errorf("the dead letter says %v", err)
		}
		stop()
	})
}

func TestRunDrains(t *testing.T) {
	each(t, func(k *kit) {
		entered, leave := make(chan bool), make(chan bool)
		millrace.Handle(k.app, "totals", func(ctx context.Context, tx *sql.Tx, _ Placed) error {
			close(entered)
			<-leave
			return effect(ctx, tx)
		})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- k.app.Run(ctx) }()
		k.emit(Placed{"o-1", 1})
		wait(k, "the handler", entered)
		check(k, k.app.Ready(k.Context()))
		cancel()
		close(leave)
		check(k, wait(k, "the end of Run", done))
		if n := k.effects(); n != 1 {
			k.Errorf("%d effects", n)
		}
		if err := k.app.Run(k.Context()); err == nil || !strings.Contains(err.Error(), "Run was called before") {
			k.Errorf("a second Run returns %v", err)
		}
		if err := k.app.Ready(k.Context()); err == nil || !strings.Contains(err.Error(), "Run is not running") {
			k.Errorf("Ready says %v", err)
		}
	})
}

func TestWrap(t *testing.T) {
	each(t, func(k *kit) {
		ids := make(chan string, 3)
		millrace.Handle(k.app, "totals", func(ctx context.Context, _ *sql.Tx, p Placed) error {
			ids <- millrace.Meta(ctx).CorrelationID
			return nil
		})
		handler := millrace.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			check(k, k.app.Do(r.Context(), func(ctx context.Context, tx *sql.Tx) error { return k.app.Emit(ctx, tx, Placed{"o-1", 1}) }))
		}))
		stop := k.run()
		for brought, kept := range map[string]bool{"req-7": true, "": false, "a b\n": false, strings.Repeat("x", 129): false} {
			r, w := httptest.NewRequestWithContext(k.Context(), http.MethodPost, "/", nil), httptest.NewRecorder()
			r.Header.Set("X-Request-Id", brought)
			handler.ServeHTTP(w, r)
			id := w.Header().Get("X-Request-Id")
			if id == "" || (id == brought) != kept {
				k.Errorf("a request of id %q is answered with %q", brought, id)
			}
			if got := wait(k, "the event", ids); got != id {
				k.Errorf("its event is of %q", got)
			}
		}
		stop()
	})
}
