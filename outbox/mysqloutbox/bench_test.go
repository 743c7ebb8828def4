package mysqloutbox_test

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// discard is a publisher that does nothing.
type discard struct{}

func (discard) Publish(string, ...*message.Message) error { return nil }
func (discard) Close() error                              { return nil }

// BenchmarkDrain publishes 50,000 events of 500 bytes to a publisher that does nothing.
func BenchmarkDrain(b *testing.B) {
	const rows, batch = 50_000, 1000
	var drained time.Duration
	for range b.N {
		store, db := open(b, mysqloutbox.Config{})
		for i := 0; i < rows; i += batch {
			var text strings.Builder
			text.WriteString(`INSERT INTO outbox_messages (lane, topic, message_id, message_key, headers, payload) VALUES `)
			for j := i; j < i+batch; j++ {
				if j > i {
					text.WriteByte(',')
				}
				text.WriteString(`(0, 'events', UUID(), 'key-` + strconv.Itoa(j%1000) + `', '{"content-type":"application/cloudevents+json"}', REPEAT('x', 500))`)
			}
			if _, err := db.ExecContext(b.Context(), text.String()); err != nil {
				b.Fatal(err)
			}
		}
		relay, err := outbox.NewRelay(store, discard{}, outbox.RelayConfig{})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := relay.Drain(b.Context()); err != nil {
			b.Fatal(err)
		}
		drained += time.Since(start)
		var behind int
		if err := db.QueryRowContext(b.Context(), `SELECT COUNT(*) FROM outbox_messages AS m JOIN outbox_cursors AS c ON m.seq = 0 OR m.seq > c.last_seq`).Scan(&behind); err != nil || behind != 0 {
			b.Fatalf("%d events are left, %v", behind, err)
		}
	}
	b.ReportMetric(float64(rows*b.N)/drained.Seconds(), "drained/s")
}

// BenchmarkAppend appends one event per transaction, each with its own key.
func BenchmarkAppend(b *testing.B) {
	store, db := open(b, mysqloutbox.Config{})
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		err := sqltx.Do(b.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
			return box.Append(ctx, tx, storetest.Event(b, "a", 1))
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := box.Close(b.Context()); err != nil {
		b.Error(err)
	}
}
