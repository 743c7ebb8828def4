package pglog

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/log"
)

// BenchmarkDrain reads 50,000 rows of 500 bytes through windows and moves the cursor. For
// comparison, it reads the same rows by primary key.
func BenchmarkDrain(b *testing.B) {
	const rows, batch = 50_000, 1000
	l, db := open(b)
	ctx := b.Context()
	if _, err := db.ExecContext(ctx, `INSERT INTO log_messages (lane, topic, message_id, message_key, headers, payload)
		SELECT 0, 'topic', gen_random_uuid()::text, (g % 100)::text, '', convert_to(repeat('x', 500), 'UTF8') FROM generate_series(1, $1::int) AS g`, rows); err != nil {
		b.Fatal(err)
	}
	b.Run("windows", func(b *testing.B) {
		for b.Loop() {
			lease, err := l.Lease(ctx, log.Cursor{Consumer: time.Now().String()}, "me", time.Minute)
			if err != nil {
				b.Fatal(err)
			}
			p, n := lease.Position, 0
			for n < rows {
				entries, next, err := l.Read(ctx, 0, p, batch)
				if err != nil {
					b.Fatal(err)
				}
				n += len(entries)
				p = next
				if err := l.Advance(ctx, lease, p, time.Minute); err != nil {
					b.Fatal(err)
				}
				lease.Position = p
			}
		}
		b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("windows-read-only", func(b *testing.B) {
		for b.Loop() {
			p, n := log.Position{}, 0
			for n < rows {
				entries, next, err := l.Read(ctx, 0, p, batch)
				if err != nil {
					b.Fatal(err)
				}
				n += len(entries)
				p = next
			}
		}
		b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("by-primary-key", func(b *testing.B) {
		for b.Loop() {
			for after := int64(0); after < rows; {
				got, _, err := l.scan(ctx, 0, batch, `SELECT '', id, topic, message_id, message_key, headers, payload, created_at
					FROM log_messages WHERE lane = $1 AND id > $2 ORDER BY id LIMIT $3`, []any{0, after, batch})
				if err != nil {
					b.Fatal(err)
				}
				after = got[len(got)-1].ID
			}
		}
		b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}
