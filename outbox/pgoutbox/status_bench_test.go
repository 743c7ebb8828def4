package pgoutbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

// BenchmarkStatusDrain publishes 50,000 events of 500 bytes to a publisher that does nothing:
// by the status store with 10,000 keys and with 20 hot ones, and by a plain relay without keys,
// in turn. Compare the ratios; the rates depend on the machine.
func BenchmarkStatusDrain(b *testing.B) {
	const rows = 50_000
	var cold, hot, naive time.Duration
	for range b.N {
		cold += drainStatus(b, rows, 10_000)
		naive += drainPlain(b, rows)
		hot += drainStatus(b, rows, 20)
	}
	n := float64(rows * b.N)
	b.ReportMetric(n/cold.Seconds(), "events/s")
	b.ReportMetric(n/hot.Seconds(), "hot-events/s")
	b.ReportMetric(n/naive.Seconds(), "plain-events/s")
	b.ReportMetric(naive.Seconds()/cold.Seconds(), "of-plain")
	b.ReportMetric(cold.Seconds()/hot.Seconds(), "hot-of-cold")
}

// settle brings the server into the same state before each measurement.
func settle(b *testing.B, db *sql.DB, table string) {
	b.Helper()
	for _, q := range []string{"VACUUM ANALYZE " + table} {
		_, err := db.ExecContext(b.Context(), q)
		require.NoError(b, err)
	}
}

func drainStatus(b *testing.B, rows, keys int) time.Duration {
	b.Helper()
	store, db := openStatus(b, pgoutbox.Config{})
	_, err := db.ExecContext(b.Context(), `
		INSERT INTO outbox_events (shard, topic, id, event_key, headers, payload, event_type, aggregate_type, aggregate_id)
		SELECT 0, 'events', gen_random_uuid(), 'key-' || i % $2::int, '{"content-type":"application/cloudevents+json"}',
			convert_to(repeat('x', 500), 'UTF8'), 'Tested', 'test', 'key-' || i % $2::int
		FROM generate_series(1, $1::int) AS i`, rows, keys)
	require.NoError(b, err)
	settle(b, db, "outbox_events")
	relay, err := outbox.NewRelay(store, discard{}, outbox.RelayConfig{})
	require.NoError(b, err)
	start := time.Now()
	require.NoError(b, relay.Drain(b.Context()))
	took := time.Since(start)
	var left int
	if err := db.QueryRowContext(b.Context(), `SELECT count(*) FROM outbox_events WHERE NOT published`).Scan(&left); err != nil || left != 0 {
		b.Fatalf("%d events are not published, %v", left, err)
	}
	return took
}

// drainPlain is the textbook queue on a table: batches of 1000 by SKIP LOCKED, published and
// deleted in one transaction.
func drainPlain(b *testing.B, rows int) time.Duration {
	b.Helper()
	_, db := openStatus(b, pgoutbox.Config{})
	_, err := db.ExecContext(b.Context(), `CREATE TABLE plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		topic text NOT NULL, message_id uuid NOT NULL, message_key text NOT NULL, headers text NOT NULL, payload bytea NOT NULL)`)
	require.NoError(b, err)
	_, err = db.ExecContext(b.Context(), `
		INSERT INTO plain (topic, message_id, message_key, headers, payload)
		SELECT 'events', gen_random_uuid(), 'key-' || i % 10000, '{"content-type":"application/cloudevents+json"}',
			convert_to(repeat('x', 500), 'UTF8')
		FROM generate_series(1, $1::int) AS i`, rows)
	require.NoError(b, err)
	settle(b, db, "plain")
	start := time.Now()
	for published := 0; ; {
		n, err := plainBatch(b.Context(), db)
		require.NoError(b, err)
		if published += n; n == 0 {
			require.Equalf(b, rows, published, "the plain relay published %d of %d", published, rows)
			return time.Since(start)
		}
	}
}

func plainBatch(ctx context.Context, db *sql.DB) (int, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	r, err := tx.QueryContext(ctx, `SELECT id, topic, message_id, message_key, headers, payload FROM plain
		ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED`)
	if err != nil {
		return 0, err
	}
	defer r.Close() //nolint:errcheck // Err is checked below
	var ids []int64
	var msgs []*message.Message
	for r.Next() {
		var id int64
		var topic, uuid, key, headers string
		var payload []byte
		if err := r.Scan(&id, &topic, &uuid, &key, &headers, &payload); err != nil {
			return 0, err
		}
		ids = append(ids, id)
		msgs = append(msgs, message.NewMessage(uuid, payload))
	}
	if err := r.Err(); err != nil || len(ids) == 0 {
		return 0, err
	}
	if err := (discard{}).Publish("events", msgs...); err != nil {
		return 0, fmt.Errorf("publish: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM plain WHERE id = ANY ($1)`, ids); err != nil {
		return 0, err
	}
	return len(ids), tx.Commit()
}
