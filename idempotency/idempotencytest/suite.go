package idempotencytest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/intx"
	"github.com/millrace-go/millrace/internal/steps"
)

// Harness is one empty store with the parts that the suite needs.
type Harness struct {
	// Store under test; required.
	Store driver.Store
	// Peer is the same store, opened by another process on its own connection pool; Store when
	// nil. Concurrent cases use both.
	Peer driver.Store
	// DB is the database of Store's transactions; nil for a store without transactions. The
	// suite creates the table idempotencytest_effects in it.
	DB *sql.DB
	// Backdate makes a recorded key older by the given time; nil if the backend cannot do this.
	Backdate func(ctx context.Context, key string, by time.Duration) error
	// Expires says that keys expire by themselves and Prune does nothing.
	Expires bool
	// Window is how long a case holds a key to check that a forbidden effect does not happen;
	// 100 ms when zero. A correct store passes with any Window; a broken store is caught if its
	// effect takes less than Window.
	Window time.Duration
}

func (h Harness) window() time.Duration { return cmp.Or(h.Window, 100*time.Millisecond) }

// The needs; n/a lines print these texts.
const (
	NeedDB        conformance.Need = "the store has no transactions (Harness.DB is nil)"
	NeedBackdate  conformance.Need = "a key's age cannot be changed (Harness.Backdate is nil)"
	NeedBatch     conformance.Need = "the store claims one key at a time (it is no idempotency.BatchStore)"
	NeedForgetter conformance.Need = "keys cannot be forgotten (the store is no idempotency.Forgetter)"
	NeedPrune     conformance.Need = "keys expire by themselves (Harness.Expires is set)"
)

type testCase = conformance.Case[Harness]

// Run runs every case as a subtest, each on its own harness.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	Suite().Run(t, open)
}

// Suite returns the guarantees of a store.
func Suite() conformance.Suite[Harness] {
	return conformance.Suite[Harness]{
		Cases: slices.Concat(
			basicCases(), keyCases(), transactionCases(), concurrentCases(), batchCases(), forgetCases(), pruneCases(),
		),
		Limit: limit,
		Lacks: func(h Harness, n conformance.Need) bool {
			_, batch := h.Store.(driver.BatchStore)
			_, forgetter := h.Store.(driver.Forgetter)
			return n == NeedDB && h.DB == nil || n == NeedBackdate && h.Backdate == nil ||
				n == NeedBatch && !batch || n == NeedForgetter && !forgetter || n == NeedPrune && h.Expires
		},
		Complete: func(ctx context.Context, h Harness) (Harness, error) {
			if h.Peer == nil {
				h.Peer = h.Store
			}
			if h.DB != nil {
				if _, err := h.DB.ExecContext(ctx, `CREATE TABLE idempotencytest_effects (name VARCHAR(64) NOT NULL)`); err != nil {
					return h, fmt.Errorf("make the table of effects: %w", err)
				}
			}
			return h, nil
		},
	}
}

// limit bounds the time of one case: the case of a store that deadlocks fails then, provided
// that the store obeys its context.
const limit = 30 * time.Second

// effects counts the effects of handlers: in the database's transaction if there is one, so
// that a rollback undoes the count, else only the successes.
type effects struct {
	h     Harness
	mu    sync.Mutex
	count map[string]int
}

func newEffects(h Harness) *effects { return &effects{h: h, count: map[string]int{}} }

// do has the effect and then returns result, as a handler would.
func (e *effects) do(ctx context.Context, name string, result error) error {
	if e.h.DB != nil {
		tx, ok := intx.From(ctx)
		if !ok {
			return errors.New("the handler's context carries no transaction")
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO idempotencytest_effects (name) VALUES ('`+name+`')`); err != nil {
			return err
		}
		return result
	}
	if result == nil {
		e.mu.Lock()
		e.count[name]++
		e.mu.Unlock()
	}
	return result
}

// of counts the committed effects of that name.
func (e *effects) of(ctx context.Context, name string) (n int, err error) {
	if e.h.DB == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.count[name], nil
	}
	err = e.h.DB.QueryRowContext(ctx, `SELECT count(*) FROM idempotencytest_effects WHERE name = '`+name+`'`).Scan(&n)
	return n, err
}

// expect compares the state with the expected one.
func (e *effects) expect(ctx context.Context, when, key, name string, seen bool, want int) (err error) {
	defer steps.End(&err)
	got, err := e.h.Store.Seen(ctx, key)
	steps.Named(err, "%s: Seen", when)
	n, err := e.of(ctx, name)
	steps.Named(err, "%s: count effects", when)
	if got != seen || n != want {
		return fmt.Errorf("%s: key recorded %v, effects %d; want %v, %d", when, got, n, seen, want)
	}
	return nil
}

// handler has the effect of that name.
func (e *effects) handler(name string) func(context.Context) error {
	return func(ctx context.Context) error { return e.do(ctx, name, nil) }
}

// once delivers a record, and checks whether its key was new.
func once(ctx context.Context, what string, s driver.Store, key string, want bool, handler func(context.Context) error) error {
	fresh, err := s.Once(ctx, record(key), handler)
	if err != nil || fresh != want {
		return fmt.Errorf("%s: fresh %v, %w; want %v", what, fresh, orNil(err), want)
	}
	return nil
}

// count checks the number that a call returns.
func count(what string, want int) func(got int, err error) error {
	return func(got int, err error) error {
		if got != want || err != nil {
			return fmt.Errorf("%s: %d, %w; want %d", what, got, orNil(err), want)
		}
		return nil
	}
}

// nothing is a handler without an effect.
func nothing(context.Context) error { return nil }

func record(key string) driver.Record {
	return driver.Record{Key: key, Group: "group", EventType: "Tested", AggregateID: "42", EventID: key}
}
