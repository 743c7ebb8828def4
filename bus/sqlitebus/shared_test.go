package sqlitebus_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/sqltx"
)

// appDB is an application's own file with a table and pools.
func appDB(t *testing.T) (path string, db, reader *sql.DB) {
	t.Helper()
	path, db = servicetest.SQLite(t)
	_, err := db.Exec(`CREATE TABLE seats (id TEXT PRIMARY KEY)`)
	require.NoError(t, err)
	reader, err = sqlitedb.OpenReader(path, sqlitedb.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { reader.Close() })
	return path, db, reader
}

// A handler that writes the same file in its own transaction, and publishes in it, works on one
// shared connection: the bus has no transaction open while the handler works.
func TestHandlerWritesTheSameFile(t *testing.T) {
	path, db, reader := appDB(t)
	b := openBus(t, sqlitebus.Config{DB: db, ReadDB: reader}, "sqlite://"+path)
	ch := subscribe(t, b, "group", "requests", 10)
	answers := subscribe(t, b, "group", "answers", 10)
	const n = 50
	for i := range n {
		publish(t, b, "requests", keyed(fmt.Sprint(i), fmt.Sprint(i)))
	}
	go func() {
		for range n {
			m := <-ch
			go func() {
				err := sqltx.Do(m.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
					if _, err := tx.ExecContext(ctx, `INSERT INTO seats VALUES (?)`, string(m.Payload)); err != nil {
						return err
					}
					answer := keyed(string(m.Payload), string(m.Payload))
					answer.SetContext(ctx)
					return b.Publisher().Publish("answers", answer)
				})
				assert.NoError(t, err)
				m.Ack()
			}()
		}
	}()
	for range n {
		receive(t, answers).Ack()
	}
	var seats int
	if err := reader.QueryRow(`SELECT count(*) FROM seats`).Scan(&seats); err != nil || seats != n {
		t.Errorf("%d seats (%v), want %d", seats, err, n)
	}
}

func TestPublishInTransaction(t *testing.T) {
	path, db, reader := appDB(t)
	b := openBus(t, sqlitebus.Config{DB: db, ReadDB: reader}, "sqlite://"+path)
	send := func(topic, payload string, fail error) (late *message.Message) {
		err := sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
			m := keyed("k", payload)
			m.SetContext(ctx)
			late = m
			if err := b.Publisher().Publish(topic, m); err != nil {
				return err
			}
			return fail
		})
		require.ErrorIs(t, err, fail)
		return late
	}
	browse := func(topic string, want ...string) {
		t.Helper()
		got, err := b.Browse(t.Context(), topic, 10)
		var payloads []string
		for _, m := range got {
			payloads = append(payloads, string(m.Payload))
		}
		if err != nil || fmt.Sprint(payloads) != fmt.Sprint(want) {
			t.Errorf("%s holds %q (%v), want %q", topic, payloads, err, want)
		}
	}
	stop := errors.New("roll back")
	// The first publish also makes the topic. Both are rolled back, and the topic must not be
	// cached: another topic may get its lanes.
	send("a", "never", stop)
	send("b", "b1", nil)
	browse("a")
	browse("b", "b1")
	send("a", "a1", nil)
	browse("a", "a1")
	browse("b", "b1")

	ch := subscribe(t, b, "group", "a", 10)
	receive(t, ch).Ack()
	late := send("a", "never", stop)
	send("a", "a2", nil)
	if m := receive(t, ch); string(m.Payload) != "a2" {
		t.Errorf("got %s, want a2", m.Payload)
	} else {
		m.Ack()
	}
	// A message whose context carries a finished transaction, as a dead letter may, is published
	// on its own.
	publish(t, b, "a", late)
	if m := receive(t, ch); string(m.Payload) != "never" {
		t.Errorf("got %s", m.Payload)
	} else {
		m.Ack()
	}
}

// Config.DB is used for the URLs of its file, and no others.
func TestOtherFileIsNotShared(t *testing.T) {
	path, db, reader := appDB(t)
	other := filepath.Join(t.TempDir(), "other.db")
	cfg := sqlitebus.Config{DB: db, ReadDB: reader}
	publish(t, openBus(t, cfg, "sqlite://"+other), "topic", keyed("k", "1"))
	var tables int
	const count = `SELECT count(*) FROM sqlite_master WHERE name LIKE 'bus_%' AND type = 'table'`
	if err := db.QueryRow(count).Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables of the bus are in the application's file (%v)", tables, err)
	}
	publish(t, openBus(t, cfg, "sqlite://"+path), "topic", keyed("k", "1"))
	if err := db.QueryRow(count).Scan(&tables); err != nil || tables != 5 {
		t.Errorf("%d tables of the bus are in the application's file (%v), want 5", tables, err)
	}
	assert.NoError(t, db.Ping())
}
