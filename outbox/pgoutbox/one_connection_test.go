package pgoutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

func TestPoolOfOneConnection(t *testing.T) { database.OneConnection(t) }

// TestListenNeedsASecondConnection: Listen must return an error that names the remedy, and must
// not hold the only connection.
func TestListenNeedsASecondConnection(t *testing.T) {
	for name, status := range map[string]bool{"cursor": false, "status": true} {
		t.Run(name, func(t *testing.T) {
			store, db := database.Store(t, storetest.Config{Status: status})
			db.SetMaxOpenConns(1)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err := store.(driver.Listener).Listen(ctx, func() {})
			if !errors.Is(err, driver.ErrUnsupported) || !errors.Is(err, driver.ErrOneConnection) || !strings.Contains(err.Error(), "allow two or more") {
				t.Errorf("Listen on a pool of one connection returned %v, want ErrUnsupported and the remedy", err)
			}
		})
	}
}

// TestRetryInATransaction retries in the caller's transaction, which is rolled back: the wake-up of
// other processes must need no second connection, and must not come before the commit.
func TestRetryInATransaction(t *testing.T) {
	for name, status := range map[string]bool{"cursor": false, "status": true} {
		t.Run(name, func(t *testing.T) {
			store, db := database.Store(t, storetest.Config{Status: status})
			db.SetMaxOpenConns(1)
			storetest.Append(t, db, store, storetest.Event(t, "a", 1))
			ctx := storetest.Within(t, 10*time.Second)
			id := storetest.Park(t, store, 0)
			undone := errors.New("undone")
			err := sqltx.Do(ctx, db, func(ctx context.Context, _ *sql.Tx) error {
				if n, err := store.Retry(ctx, id); err != nil || n != 1 {
					t.Errorf("Retry = %d, %v", n, err)
				}
				return undone
			})
			if left, perr := store.Parked(ctx, 0, 2); !errors.Is(err, undone) || perr != nil || len(left) != 1 {
				t.Errorf("after the rollback (%v) %d events are parked, %v; want the one", err, len(left), perr)
			}
		})
	}
}

// TestListenBehindAPooler: a notification would be lost, so Listen returns an error that names
// the remedy.
func TestListenBehindAPooler(t *testing.T) {
	db, err := pgdb.Open(servicetest.PgBouncerURL(t))
	require.NoError(t, err)
	defer db.Close()
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err = store.(driver.Listener).Listen(ctx, func() { t.Error("a pooler woke the relay") })
	if !errors.Is(err, driver.ErrPooler) || !errors.Is(err, driver.ErrUnsupported) || !strings.Contains(err.Error(), "leads to the server itself") {
		t.Errorf("Listen through PgBouncer returned %v, want ErrPooler and the remedy", err)
	}
}

// TestReadEndedByTheServer: a read waits for a lock until statement_timeout ends it. The relay
// then asks for fewer events.
func TestReadEndedByTheServer(t *testing.T) {
	for name, status := range map[string]bool{"cursor": false, "status": true} {
		t.Run(name, func(t *testing.T) {
			url := servicetest.PostgresURL(t)
			db, err := pgdb.Open(url)
			require.NoError(t, err)
			t.Cleanup(func() { db.Close() })
			hasty, err := pgdb.Open(url)
			require.NoError(t, err)
			t.Cleanup(func() { hasty.Close() })
			hasty.SetMaxOpenConns(1)
			var store driver.SQLStore
			table := "outbox_messages"
			if status {
				table = "outbox_events"
				store, err = pgoutbox.New(hasty, pgoutbox.Config{Status: true})
			} else {
				store, err = pgoutbox.New(hasty, pgoutbox.Config{})
			}
			require.NoError(t, err)
			require.NoError(t, store.Migrate(t.Context()))
			lease, err := store.Lease(t.Context(), 0, "me", time.Minute)
			require.NoError(t, err)
			_, err = hasty.ExecContext(t.Context(), "SET statement_timeout = '100ms'")
			require.NoError(t, err)
			tx, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			defer tx.Rollback() //nolint:errcheck // nothing to keep
			_, err = tx.ExecContext(t.Context(), "LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE")
			require.NoError(t, err)
			if _, err := store.Read(t.Context(), lease, driver.Query{Limit: 10}); !errors.Is(err, driver.ErrSlow) {
				t.Errorf("a read that statement_timeout ended returned %v, want ErrSlow", err)
			}
		})
	}
}
