package sqlidempotency_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/sqltx"
)

// TestPoolOfOne: no call requests a second connection while it holds the only one: that would
// wait until the context ends.
func TestPoolOfOne(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on database) {
		db, _ := pools(t, on)
		db.SetMaxOpenConns(1)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		s := migrated(t, db, sqlidempotency.Config{Dialect: on.Dialect})
		leases := newLeases(t, db, on.Dialect)
		guarded(t, ctx, db, s)
		leased(t, ctx, db, leases)
		assert.Equal(t, 0, db.Stats().InUse, "connections are still in use")
	})
}

func guarded(t *testing.T, ctx context.Context, db *sql.DB, s driver.SQLStore[*sql.Tx]) {
	t.Helper()
	fresh, err := s.Once(ctx, record("stats:1"), func(ctx context.Context) error {
		seen, err := s.Seen(ctx, "stats:1")
		assert.True(t, seen, "the handler does not see its own key")
		inner, err2 := s.Once(ctx, record("stats:2"), nothing)
		news, err3 := s.OnceBatch(ctx, []driver.Record{record("stats:2"), record("stats:3")},
			func(context.Context, []int) error { return nil })
		more, err4 := s.Fresh(ctx, []driver.Record{record("stats:4"), record("stats:1")})
		_, err5 := s.Prune(ctx, time.Hour, 10)
		if !inner || len(news) != 1 || len(more) != 1 {
			t.Errorf("inside the handler: fresh %v, new %v and %v; want one each", inner, news, more)
		}
		return errors.Join(err, err2, err3, err4, err5)
	})
	if !fresh || err != nil {
		t.Errorf("Once: %v, %v", fresh, err)
	}
	// After a conflict the connection is returned before the next attempt.
	runs := 0
	fresh, err = s.Once(ctx, record("stats:5"), func(context.Context) error {
		if runs++; runs < 3 {
			return fmt.Errorf("count: %w", conflict)
		}
		return nil
	})
	if !fresh || err != nil || runs != 3 {
		t.Errorf("Once with conflicts: %v, %v after %d runs", fresh, err, runs)
	}
}

// leased works in a transaction on the only connection until the renewal of its lease waits for
// it, and completes it there.
func leased(t *testing.T, ctx context.Context, db *sql.DB, store driver.SQLLeaseStore) {
	t.Helper()
	leases, err := idempotency.NewLeases(store, idempotency.LeaseConfig{Group: "stats", TTL: 6 * time.Second})
	require.NoError(t, err)
	waits := db.Stats().WaitCount
	result, fresh, err := leases.Once(ctx, "stats:1", "", func(ctx context.Context, c driver.Claim) ([]byte, error) {
		return []byte("done"), sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
			for db.Stats().WaitCount == waits { // the first renewal is after a third of the TTL
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(5 * time.Millisecond):
				}
			}
			return store.Complete(ctx, c, []byte("done"))
		})
	})
	if string(result) != "done" || !fresh || err != nil {
		t.Errorf("a lease on a pool of one: %q, %v, %v", result, fresh, err)
	}
	if c, err := store.Claim(ctx, record("stats:1"), time.Minute); err != nil || c.State != driver.Done {
		t.Errorf("the key is %v, %v; want done", c.State, err)
	}
}
