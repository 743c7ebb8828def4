package sqliteoutbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
)

// onOne opens a store of each kind over a pool of one connection, and if asked with a Reader of
// one connection.
func onOne(t testing.TB, shards int, status, withReader bool) (driver.SQLStore, outboxtest.Harness) {
	t.Helper()
	path, db := servicetest.SQLite(t)
	db.SetMaxOpenConns(1)
	cfg := sqliteoutbox.Config{Shards: shards}
	if withReader {
		cfg.Reader = reader(t, path)
		cfg.Reader.SetMaxOpenConns(1)
	}
	var store driver.SQLStore
	var err error
	if status {
		store, err = sqliteoutbox.New(db, sqliteoutbox.Config{Status: true, Shards: shards, Reader: cfg.Reader})
	} else {
		store, err = sqliteoutbox.New(db, cfg)
	}
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	return store, outboxtest.Harness{Store: store, InTx: storetest.InTx(db)}
}

// TestPoolOfOneConnection runs cases of the suite with relays, writers, pruners and
// statistics that share one connection.
func TestPoolOfOneConnection(t *testing.T) {
	for name, kind := range map[string][2]bool{"cursor": {}, "status": {true}, "cursor with a reader": {false, true}, "status with a reader": {true, true}} {
		t.Run(name, func(t *testing.T) {
			outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
				_, h := onOne(t, shards, kind[0], kind[1])
				return h
			}, storetest.Concurrent...)
		})
	}
}

// TestListenNeedsASecondConnection: Listen must return an error that names the remedy, and must
// not hold the only connection.
func TestListenNeedsASecondConnection(t *testing.T) {
	for name, status := range map[string]bool{"cursor": false, "status": true} {
		t.Run(name, func(t *testing.T) {
			store, _ := onOne(t, 1, status, true)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err := store.(driver.Listener).Listen(ctx, func() {})
			if !errors.Is(err, driver.ErrUnsupported) || !errors.Is(err, driver.ErrOneConnection) || !strings.Contains(err.Error(), "allow two or more") {
				t.Errorf("Listen on a Reader of one connection returned %v, want ErrUnsupported and the remedy", err)
			}
		})
	}
}
