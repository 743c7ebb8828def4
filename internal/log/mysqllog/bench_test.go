package mysqllog_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/mysqllog"
	"github.com/millrace-go/millrace/sqltx"
)

// fill appends rows of 500 bytes to lane 0.
func fill(b *testing.B, l *mysqllog.Log, db *sql.DB, rows int) {
	b.Helper()
	const batch = 5000
	entries := make([]log.Entry, batch)
	for i := range entries {
		entries[i] = log.Entry{Topic: "topic", MessageID: fmt.Sprintf("0198c0de-0000-7000-8000-%012d", i),
			Key: fmt.Sprint(i % 100), Payload: make([]byte, 500)}
	}
	for range rows / batch {
		require.NoError(b, l.Append(b.Context(), db, entries))
	}
}

// drain reads the lane to its end, and moves the cursor behind every batch.
func drain(ctx context.Context, l *mysqllog.Log, consumer string) (n int, err error) {
	lease, err := l.Lease(ctx, log.Cursor{Consumer: consumer}, "me", time.Minute)
	if err != nil {
		return 0, err
	}
	for p := lease.Position; ; {
		entries, next, err := l.Read(ctx, 0, p, 1000)
		if err != nil || len(entries) == 0 {
			return n, err
		}
		n, p = n+len(entries), next
		if err := l.Advance(ctx, lease, p, time.Minute); err != nil {
			return n, err
		}
		lease.Position = p
	}
}

// BenchmarkDrain reads 100,000 rows of 500 bytes and moves the cursor: as the first reader,
// which gives the places, and as a second one. For comparison, it reads the same rows by primary
// key.
func BenchmarkDrain(b *testing.B) {
	const rows = 100_000
	var first, second, byKey time.Duration
	for range b.N {
		l, db := open(b)
		fill(b, l, db, rows)
		timed(b, l, "first", rows, &first)
		timed(b, l, "second", rows, &second)
		start := time.Now()
		for after := int64(0); ; {
			page := scan(b, db, after)
			if page == after {
				break
			}
			after = page
		}
		byKey += time.Since(start)
	}
	all := float64(rows * b.N)
	b.ReportMetric(all/first.Seconds(), "first/s")
	b.ReportMetric(all/second.Seconds(), "second/s")
	b.ReportMetric(all/byKey.Seconds(), "by-primary-key/s")
}

func timed(b *testing.B, l *mysqllog.Log, consumer string, rows int, took *time.Duration) {
	b.Helper()
	start := time.Now()
	n, err := drain(b.Context(), l, consumer)
	if err != nil || n != rows {
		b.Fatalf("drained %d rows of %d, %v", n, rows, err)
	}
	*took += time.Since(start)
}

// scan reads the next 1000 rows by primary key and returns the last id.
func scan(b *testing.B, db *sql.DB, after int64) int64 {
	b.Helper()
	rows, err := db.QueryContext(b.Context(), `SELECT id, topic, message_id, message_key, headers, payload
		FROM log_messages WHERE id > ? ORDER BY id LIMIT 1000`, after)
	require.NoError(b, err)
	defer rows.Close()
	for rows.Next() {
		var topic, id, key, headers string
		var payload []byte
		require.NoError(b, rows.Scan(&after, &topic, &id, &key, &headers, &payload))
	}
	require.NoError(b, rows.Err())
	return after
}

// BenchmarkAppend appends one entry per transaction, alone and while a reader
// drains the lane again and again.
func BenchmarkAppend(b *testing.B) {
	for _, drained := range []bool{false, true} {
		b.Run(fmt.Sprintf("drained=%v", drained), func(b *testing.B) {
			l, db := open(b)
			fill(b, l, db, 100_000)
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			go func() {
				var err error
				for drained && err == nil && ctx.Err() == nil {
					_, err = drain(ctx, l, "reader")
				}
				ended <- err
			}()
			took := make([]time.Duration, 0, 10_000)
			for b.Loop() {
				start := time.Now()
				err := sqltx.Do(b.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
					return l.Append(ctx, tx, []log.Entry{{Topic: "topic", MessageID: "1", Key: "k", Payload: make([]byte, 500)}})
				})
				if err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			stop()
			if err := <-ended; err != nil && ctx.Err() == nil {
				b.Fatal(err)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
