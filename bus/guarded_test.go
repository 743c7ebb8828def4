package bus_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

func guardOf(t *testing.T, store driver.Store, group string) *idempotency.Guard[idempotency.NoTx] {
	t.Helper()
	g, err := idempotency.New[idempotency.NoTx](store, idempotency.Config{Group: group})
	require.NoError(t, err)
	return g
}

// A killed process leaves the leases of the messages it was handling. The next process waits for
// their deadline, for any number of retries.
func TestLeasesOfADeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, b := memidempotency.NewLeases(), memBus(t)
		leases, err := idempotency.NewLeases(store, idempotency.LeaseConfig{Group: "mail"})
		require.NoError(t, err)
		if c, err := store.Claim(t.Context(), driver.Record{Key: "mail:k#1"}, 30*time.Second); err != nil || c.State != driver.Claimed {
			t.Fatal(c.State, err)
		}
		began, done := time.Now(), make(chan time.Duration, 1)
		r := start(t, b, bus.RunnerConfig{}, bus.Consumer{
			Topic: "orders", Group: "mail", Retry: bus.FixedRetry(time.Second, 1),
			Handler: func(m *message.Message) error {
				_, _, err := leases.Once(m.Context(), "mail:"+m.UUID, "", func(context.Context, idempotency.Claim) ([]byte, error) {
					done <- time.Since(began)
					return nil, nil
				})
				return err
			},
		})
		publish(t, b, "orders", keyed("k", 1))
		time.Sleep(time.Minute)
		if len(done) != 1 {
			t.Error("it was not handled")
		} else if at := <-done; at < 30*time.Second || at > 31*time.Second {
			t.Errorf("handled after %v, want when the dead process's lease of 30 s has ended", at)
		}
		r.stop(t)
		if dead := browse(t, b, "orders.DLT"); len(dead) > 0 {
			t.Errorf("dead letters: %v", dead)
		}
	})
}

func noEffect(context.Context, idempotency.NoTx, event.Event) error { return nil }

func noEffects(context.Context, idempotency.NoTx, []event.Event) error { return nil }

func TestAGuardOfAnotherGroupIsRefused(t *testing.T) {
	r, err := bus.NewRunner(memBus(t), bus.RunnerConfig{})
	require.NoError(t, err)
	other := guardOf(t, memidempotency.New(), "mail")
	high := bus.Consumer{Topic: "high", Group: "h", Guarded: guardOf(t, memidempotency.New(), "h").Handle(noEffect)}
	for name, c := range map[string]bus.AnyConsumer{
		"one by one": bus.Consumer{Topic: "t", Group: "sales", Guarded: other.Handle(noEffect)},
		"by type":    bus.Consumer{Topic: "t", Group: "sales", Guarded: other.ByType(nil)},
		"batches":    bus.BatchConsumer{Topic: "t", Group: "sales", Guarded: other.HandleBatch(noEffects)},
		"in a pair":  bus.Pair{High: high, Low: bus.Consumer{Topic: "t", Group: "sales", Guarded: other.Handle(noEffect)}},
	} {
		err := r.Add(c)
		if err == nil || !strings.Contains(err.Error(), `group "mail"`) || !strings.Contains(err.Error(), `Group "sales"`) {
			t.Errorf("%s: %v; want an error that names mail, sales and what to do", name, err)
		}
	}
	for name, c := range map[string]bus.AnyConsumer{
		"both": bus.Consumer{
			Topic: "t", Group: "mail", Guarded: other.Handle(noEffect), Handler: bus.Handle(func(context.Context, event.Event) error { return nil }),
		},
		"both of a batch": bus.BatchConsumer{
			Topic: "t", Group: "mail", Guarded: other.HandleBatch(noEffects), Handler: bus.HandleBatch(func(context.Context, []event.Event) error { return nil }),
		},
	} {
		if err := r.Add(c); err == nil || !strings.Contains(err.Error(), "Handler and Guarded are both set") {
			t.Errorf("%s: %v", name, err)
		}
	}
	assert.NoError(t, r.Add(bus.Consumer{Topic: "t", Group: "mail", Guarded: other.Handle(noEffect)}), "a guard of the same group")
}

func ofAnotherGroup(err error) bool {
	return err != nil && strings.Contains(err.Error(), "the guard belongs to another group than the consumer")
}

// A guard that the runner cannot see is refused at the first event: the consumer pauses, and
// acknowledges nothing.
func TestAHiddenGuardOfAnotherGroupPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memidempotency.New()
		mail := guardOf(t, store, "mail")
		var mu sync.Mutex
		var paused []error
		hooks := bus.Hooks{OnPause: func(p bus.Report) {
			mu.Lock()
			defer mu.Unlock()
			paused = append(paused, p.Err)
		}}
		b := memBus(t)
		r := start(t, b, bus.RunnerConfig{Hooks: hooks},
			bus.Consumer{Topic: "one", Group: "sales", Handler: bus.Handle(func(ctx context.Context, e event.Event) error {
				_, err := mail.Do(ctx, e, func(context.Context, idempotency.NoTx) error { return nil })
				return err
			})},
			bus.BatchConsumer{Topic: "many", Group: "sales", Handler: bus.HandleBatch(func(ctx context.Context, all []event.Event) error {
				_, err := mail.DoBatch(ctx, all, noEffects)
				return err
			})})
		for _, topic := range []string{"one", "many"} {
			m := encoded(t, "OrderPlaced", event.Structured{})
			if fresh, err := store.Once(t.Context(), driver.Record{Key: "mail:" + m.UUID}, func(context.Context) error { return nil }); !fresh || err != nil {
				t.Fatal(fresh, err)
			}
			publish(t, b, topic, m)
		}
		time.Sleep(time.Minute)
		r.stop(t)
		if len(paused) != 2 || !ofAnotherGroup(paused[0]) || !ofAnotherGroup(paused[1]) {
			t.Errorf("paused by %v, want the guard's refusal for each consumer", paused)
		}
		for i, s := range r.Status() {
			if s.Handled != 0 || lag(t, b, s.Topic, "sales") != 1 {
				t.Errorf("consumer %d handled %d events, %d wait; want 0 and 1", i, s.Handled, lag(t, b, s.Topic, "sales"))
			}
		}
	})
}

// The handler gets the transaction, and its writes commit with the key.
func TestGuardedConsumersGetTheTransaction(t *testing.T) {
	_, db := servicetest.SQLite(t)
	keys, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: sqltx.SQLite})
	if err == nil {
		err = keys.Migrate(t.Context())
	}
	if err == nil {
		_, err = db.Exec(`CREATE TABLE sales (id TEXT)`)
	}
	require.NoError(t, err)
	guard, err := idempotency.New[*sql.Tx](keys, idempotency.Config{Group: "sales"})
	require.NoError(t, err)
	sell := func(ctx context.Context, tx *sql.Tx, e event.Event) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO sales VALUES (?)`, e.ID)
		return err
	}
	b := memBus(t)
	handled := make(chan bus.Report, 10)
	failing := true
	r := start(t, b, bus.RunnerConfig{Hooks: bus.Hooks{OnHandled: func(h bus.Report) { handled <- h }}},
		bus.Consumer{Topic: "one", Group: "sales", Retry: bus.FixedRetry(time.Millisecond, 3), Guarded: guard.ByType(map[string]func(context.Context, *sql.Tx, event.Event) error{
			"OrderPlaced": func(ctx context.Context, tx *sql.Tx, e event.Event) error {
				if err := sell(ctx, tx, e); err != nil || !failing {
					return err
				}
				failing = false
				return fault.MarkTransient(errors.New("failed after its effect"))
			},
		})},
		bus.BatchConsumer{Topic: "many", Group: "sales", Guarded: guard.HandleBatch(func(ctx context.Context, tx *sql.Tx, fresh []event.Event) error {
			for _, e := range fresh {
				if err := sell(ctx, tx, e); err != nil {
					return err
				}
			}
			return nil
		}, "OrderPlaced")})
	first, second := encoded(t, "OrderPlaced", event.Structured{}), encoded(t, "OrderPlaced", event.Structured{})
	publish(t, b, "one", first, encoded(t, "OrderSeen", event.Structured{}), first.Copy())
	publish(t, b, "many", second, encoded(t, "OrderSeen", event.Structured{}), second.Copy(), first.Copy())
	for singles, batched := 0, 0; singles < 4 || batched < 4; { // one attempt failed
		h := <-handled
		if h.Topic == "one" {
			singles++
		} else {
			batched += h.Messages
		}
	}
	r.stop(t)
	var n, distinct int
	if err := db.QueryRow(`SELECT count(*), count(DISTINCT id) FROM sales`).Scan(&n, &distinct); err != nil || n != 2 || distinct != 2 {
		t.Errorf("%d rows of %d events, %v; want 2 of 2", n, distinct, err)
	}
	for i, s := range r.Status() {
		if want := int64(i + 2); s.Ignored != 1 || s.Handled != want {
			t.Errorf("consumer %d: ignored %d, handled %d; want 1 and %d", i, s.Ignored, s.Handled, want)
		}
	}
}

// A guard rolls the whole batch back when its handler fails, so a BatchError of the handler fails
// the whole batch: an event that it does not name has no effect yet, and is not acknowledged.
func TestABatchErrorBehindAGuardFailsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memBus(t)
		effects, calls := map[string]int{}, 0
		fn := func(_ context.Context, _ idempotency.NoTx, fresh []event.Event) error {
			if calls++; calls == 1 {
				return bus.BatchError{0: errors.New("timeout")}
			}
			for _, e := range fresh {
				effects[e.AggregateID]++
			}
			return nil
		}
		r := start(t, b, bus.RunnerConfig{}, bus.BatchConsumer{
			Topic: "t", Group: "g", Guarded: guardOf(t, memidempotency.New(), "g").HandleBatch(fn),
		})
		publish(t, b, "t", typed(t, "a", "Paid", 1), typed(t, "b", "Paid", 1))
		time.Sleep(time.Minute)
		r.stop(t)
		if effects["a"] != 1 || effects["b"] != 1 || lag(t, b, "t", "g") != 0 {
			t.Errorf("effects %v, %d messages left; want one of each, and none left", effects, lag(t, b, "t", "g"))
		}
	})
}
