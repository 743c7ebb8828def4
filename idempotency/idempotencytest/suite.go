package idempotencytest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/sqltx"
)

// Harness is one empty store and what the suite needs around it.
type Harness struct {
	// Store under test; required.
	Store idempotency.Store
	// Peer is the same store as another process sees it, on a connection pool
	// of its own; Store when nil. Concurrent cases use both.
	Peer idempotency.Store
	// DB is the database that Store's transactions run on; nil for a store
	// without transactions. The suite makes the table idempotencytest_effects
	// in it.
	DB *sql.DB
	// Backdate makes a recorded key older by the given time; nil when the
	// backend has no way to.
	Backdate func(ctx context.Context, key string, by time.Duration) error
	// Expires says that keys go by themselves and Prune does nothing.
	Expires bool
	// Window is how long a case holds a key open for what must not happen; 100 ms
	// when zero. A correct store passes however short it is, and a broken one is
	// caught if it needs less.
	Window time.Duration
}

func (h Harness) window() time.Duration { return cmp.Or(h.Window, 100*time.Millisecond) }

// Need is what a case asks of a harness.
type Need string

// The needs, as their n/a lines print them.
const (
	NeedDB        Need = "the store has no transactions (Harness.DB is nil)"
	NeedBackdate  Need = "a key's age cannot be changed (Harness.Backdate is nil)"
	NeedBatch     Need = "the store claims one key at a time (it is no idempotency.BatchStore)"
	NeedForgetter Need = "keys cannot be forgotten (the store is no idempotency.Forgetter)"
	NeedPrune     Need = "keys expire by themselves (Harness.Expires is set)"
)

// Case is one promise of a store.
type Case struct {
	Name string
	// Needs lists what the harness must have; otherwise the case is n/a.
	Needs []Need
	// Run checks the promise on a fresh harness and returns how it was broken.
	Run func(ctx context.Context, h Harness) error
}

// Missing returns the first need that the harness does not meet, "" when it
// meets all.
func (c Case) Missing(h Harness) Need {
	_, batch := h.Store.(idempotency.BatchStore)
	_, forgetter := h.Store.(idempotency.Forgetter)
	for _, n := range c.Needs {
		if n == NeedDB && h.DB == nil || n == NeedBackdate && h.Backdate == nil ||
			n == NeedBatch && !batch || n == NeedForgetter && !forgetter || n == NeedPrune && h.Expires {
			return n
		}
	}
	return ""
}

// Limit is how long one case may take; a store that deadlocks fails its case
// then, provided that it heeds its context.
const Limit = 30 * time.Second

// Check runs one case on a fresh harness.
func Check(ctx context.Context, c Case, h Harness) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	if h.Peer == nil {
		h.Peer = h.Store
	}
	if h.DB != nil {
		if _, err := h.DB.ExecContext(ctx, `CREATE TABLE idempotencytest_effects (name VARCHAR(64) NOT NULL)`); err != nil {
			return fmt.Errorf("make the table of effects: %w", err)
		}
	}
	return c.Run(ctx, h)
}

// Run runs every case as a subtest on a harness of its own.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			h := open(t)
			if missing := c.Missing(h); missing != "" {
				t.Logf("n/a: %s", missing)
				return
			}
			if err := Check(t.Context(), c, h); err != nil {
				t.Error(err)
			}
		})
	}
}

// Cases returns the suite.
func Cases() []Case {
	var all []Case
	all = append(all, basicCases()...)
	all = append(all, keyCases()...)
	all = append(all, transactionCases()...)
	all = append(all, concurrentCases()...)
	all = append(all, batchCases()...)
	all = append(all, forgetCases()...)
	return append(all, pruneCases()...)
}

// effects counts what handlers did: in the database's transaction when there is
// one, so that a rollback takes it back, else only the successes.
type effects struct {
	h     Harness
	mu    sync.Mutex
	count map[string]int
}

func newEffects(h Harness) *effects { return &effects{h: h, count: map[string]int{}} }

// do has the effect and then returns result, as a handler would.
func (e *effects) do(ctx context.Context, name string, result error) error {
	if e.h.DB != nil {
		tx, ok := sqltx.From(ctx)
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

// expect compares the state with what it should be.
func (e *effects) expect(ctx context.Context, when, key, name string, seen bool, want int) error {
	got, err := e.h.Store.Seen(ctx, key)
	if err != nil {
		return fmt.Errorf("%s: Seen: %w", when, err)
	}
	n, err := e.of(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: count effects: %w", when, err)
	}
	if got != seen || n != want {
		return fmt.Errorf("%s: key recorded %v, effects %d; want %v, %d", when, got, n, seen, want)
	}
	return nil
}

func record(key string) idempotency.Record {
	return idempotency.Record{Key: key, Group: "group", EventType: "Tested", AggregateID: "42", EventID: key}
}
