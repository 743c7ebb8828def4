package sqliteoutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// TestOpenIsForWriters writes with two pools of Open at once: no write fails. It repeats this
// many times, so that no write waits for more than one transaction.
func TestOpenIsForWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	const each = 50
	var pools [2]*sql.DB
	for i := range pools {
		db, err := sqliteoutbox.Open(path)
		require.NoError(t, err)
		t.Cleanup(func() { db.Close() })
		pools[i] = db
	}
	atOnce := func(write func(context.Context, *sql.DB) error) {
		t.Helper()
		failed := make(chan error)
		for _, db := range pools {
			go func() { failed <- write(t.Context(), db) }()
		}
		require.NoError(t, errors.Join(<-failed, <-failed))
	}
	atOnce(migrate)
	for range each {
		atOnce(appendOne)
	}
	db, err := sqliteoutbox.Open(path)
	require.NoError(t, err)
	defer db.Close()
	store, err := sqliteoutbox.New(db, sqliteoutbox.Config{})
	require.NoError(t, err)
	published := &outboxtest.Publisher{}
	relay, err := outbox.NewRelay(store, published, outbox.RelayConfig{})
	require.NoError(t, err)
	require.NoError(t, relay.Drain(t.Context()))
	assert.Equal(t, 2*each, len(published.Published()), "events were published")
}

func migrate(ctx context.Context, db *sql.DB) error {
	store, err := sqliteoutbox.New(db, sqliteoutbox.Config{})
	if err != nil {
		return err
	}
	return store.Migrate(ctx)
}

func appendOne(ctx context.Context, db *sql.DB) error {
	store, err := sqliteoutbox.New(db, sqliteoutbox.Config{})
	if err != nil {
		return err
	}
	box, err := outbox.New(store, outbox.Config{Topic: "seat.events"})
	if err != nil {
		return err
	}
	sold, err := event.New("SeatSold", "boxoffice", nil)
	if err != nil {
		return err
	}
	return sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		var seen int // reads before it writes, which fails in a deferred transaction
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM outbox_messages`).Scan(&seen); err != nil {
			return err
		}
		return box.Append(ctx, tx, sold)
	})
}

func TestOpenNamesThePath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "app.db")
	if _, err := sqliteoutbox.Open(path); err == nil || !strings.Contains(err.Error(), filepath.Dir(path)) || !strings.Contains(err.Error(), "create it") {
		t.Errorf("Open in a folder that is not there: %v", err)
	}
}

func TestOpenReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	if _, err := sqliteoutbox.OpenReader(path, 1); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that is not there: %v", err)
	}
	writer, err := sqliteoutbox.Open(path)
	require.NoError(t, err)
	defer writer.Close()
	if _, err := sqliteoutbox.OpenReader(path, 0); err == nil || !strings.Contains(err.Error(), "conns is 0; give at least 1") {
		t.Errorf("no connections: %v", err)
	}
	reader, err := sqliteoutbox.OpenReader(path, 2)
	require.NoError(t, err)
	defer reader.Close()
	_, err = writer.Exec(`CREATE TABLE seats (id)`)
	require.NoError(t, err)
	tx, err := writer.Begin()
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // committed below
	_, err = tx.Exec(`INSERT INTO seats VALUES (1)`)
	require.NoError(t, err)
	count := func() (n int) {
		require.NoError(t, reader.QueryRow(`SELECT count(*) FROM seats`).Scan(&n))
		return n
	}
	if n := count(); n != 0 {
		t.Errorf("beside an open transaction %d rows are seen, want 0", n)
	}
	require.NoError(t, tx.Commit())
	if n := count(); n != 1 {
		t.Errorf("after the commit %d rows are seen, want 1", n)
	}
	if _, err := reader.Exec(`DELETE FROM seats`); err == nil {
		t.Error("a reader has written")
	}
}

// TestImpatientPoolIsRefused: Migrate refuses a pool that would fail with "database is locked"
// when the application is busy.
func TestImpatientPoolIsRefused(t *testing.T) {
	for _, test := range []struct {
		name, dsn string
		conns     int
		refused   bool
	}{
		{"a bare path", "", 0, true},
		{"one connection queues", "", 1, false},
		{"a timeout waits", "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)", 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "app.db")+test.dsn)
			require.NoError(t, err)
			defer db.Close()
			db.SetMaxOpenConns(test.conns)
			cursor, err := sqliteoutbox.New(db, sqliteoutbox.Config{})
			require.NoError(t, err)
			status, err := sqliteoutbox.New(db, sqliteoutbox.Config{Status: true})
			require.NoError(t, err)
			for _, migrate := range []func(context.Context) error{cursor.Migrate, status.Migrate} {
				err := migrate(t.Context())
				if refused := err != nil && strings.Contains(err.Error(), "sqliteoutbox.Open"); refused != test.refused || !refused && err != nil {
					t.Errorf("Migrate: %v, want a refusal: %v", err, test.refused)
				}
			}
		})
	}
}

// TestMissingTablesAreNamed: without Migrate, the errors name the missing call.
func TestMissingTablesAreNamed(t *testing.T) {
	db, err := sqliteoutbox.Open(filepath.Join(t.TempDir(), "app.db"))
	require.NoError(t, err)
	defer db.Close()
	cursor, err := sqliteoutbox.New(db, sqliteoutbox.Config{})
	require.NoError(t, err)
	status, err := sqliteoutbox.New(db, sqliteoutbox.Config{Status: true})
	require.NoError(t, err)
	sold, err := event.New("SeatSold", "boxoffice", nil)
	require.NoError(t, err)
	for _, store := range []driver.Store{cursor, status} {
		box, err := outbox.New(store, outbox.Config{Topic: "seat.events"})
		require.NoError(t, err)
		err = sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error { return box.Append(ctx, tx, sold) })
		if err == nil || !strings.Contains(err.Error(), "Migrate") || !strings.Contains(err.Error(), "millrace migrate up") {
			t.Errorf("Append without tables: %v", err)
		}
	}
}
