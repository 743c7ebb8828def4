package pgoutbox_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

// discard is a publisher that does nothing.
type discard struct{}

func (discard) Publish(string, ...*message.Message) error { return nil }
func (discard) Close() error                              { return nil }

// BenchmarkDrain publishes 50,000 events of 500 bytes to a publisher that does nothing. For
// comparison it reads the same rows by primary key in batches of 1000.
func BenchmarkDrain(b *testing.B) {
	const rows = 50_000
	var drained, read time.Duration
	for range b.N {
		store, db := open(b, pgoutbox.Config{})
		_, err := db.ExecContext(b.Context(), `
			INSERT INTO outbox_messages (lane, topic, message_id, message_key, headers, payload)
			SELECT 0, 'events', gen_random_uuid()::text, 'key-' || i % 1000,
				'{"content-type":"application/cloudevents+json"}', convert_to(repeat('x', 500), 'UTF8')
			FROM generate_series(1, $1::int) AS i`, rows)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := db.ExecContext(b.Context(), `VACUUM ANALYZE outbox_messages`); err != nil {
			b.Fatal(err)
		}
		relay, err := outbox.NewRelay(store, discard{}, outbox.RelayConfig{})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		n := 0
		for last := 0; ; {
			got := 0
			r, err := db.QueryContext(b.Context(), `SELECT id, topic, message_id, message_key, headers, payload, created_at
				FROM outbox_messages WHERE lane = 0 AND id > $1 ORDER BY id LIMIT 1000`, last)
			if err != nil {
				b.Fatal(err)
			}
			for r.Next() {
				var topic, id, key, headers string
				var payload []byte
				var at time.Time
				if err := r.Scan(&last, &topic, &id, &key, &headers, &payload, &at); err != nil {
					b.Fatal(err)
				}
				got++
			}
			if err := r.Err(); err != nil {
				b.Fatal(err)
			}
			if n += got; got == 0 {
				break
			}
		}
		read += time.Since(start)
		if n != rows {
			b.Fatalf("read %d rows", n)
		}
		start = time.Now()
		if err := relay.Drain(b.Context()); err != nil {
			b.Fatal(err)
		}
		drained += time.Since(start)
	}
	b.ReportMetric(float64(rows*b.N)/drained.Seconds(), "drained/s")
	b.ReportMetric(float64(rows*b.N)/read.Seconds(), "read/s")
	b.ReportMetric(read.Seconds()/drained.Seconds(), "ratio")
}
