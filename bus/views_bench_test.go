package bus_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

// BenchmarkViewCounts counts page views in SQLite: one statement per event with eight keys at a
// time, and one statement per batch of 100. It runs on an in-memory transport and on one in a
// file of its own.
func BenchmarkViewCounts(b *testing.B) {
	const shows = 50
	for transport, scheme := range map[string]func(dir string) (bus.Scheme, string){
		"mem": func(string) (bus.Scheme, string) { return membus.Scheme(), "mem://?retention=2000000" },
		"sqlite": func(dir string) (bus.Scheme, string) {
			return sqlitebus.Scheme(sqlitebus.Config{}), "sqlite://" + filepath.Join(dir, "bus.db")
		},
	} {
		for name, consumer := range map[string]func(*sql.DB, func(int)) bus.AnyConsumer{"sequential": oneByOne, "batch": together} {
			b.Run(transport+"/"+name, func(b *testing.B) {
				dir := b.TempDir()
				db, err := sqlitedb.Open(filepath.Join(dir, "app.db"), sqlitedb.Config{})
				if err != nil {
					b.Fatal(err)
				}
				defer db.Close()
				if _, err := db.Exec(`CREATE TABLE views (show TEXT PRIMARY KEY, n INTEGER NOT NULL)`); err != nil {
					b.Fatal(err)
				}
				s, url := scheme(dir)
				on, err := bus.Open(b.Context(), url, s)
				if err != nil {
					b.Fatal(err)
				}
				defer on.Close()
				var messages []*message.Message
				for n := range b.N {
					e, err := event.New("Viewed", "bench", map[string]int{"show": n % shows})
					if err != nil {
						b.Fatal(err)
					}
					e.AggregateID = fmt.Sprint(n % shows)
					m, err := event.Structured{}.Encode(e)
					if err != nil {
						b.Fatal(err)
					}
					if messages = append(messages, m); len(messages) == 1000 || n == b.N-1 {
						if err := on.Publisher().Publish("t", messages...); err != nil {
							b.Fatal(err)
						}
						messages = nil
					}
				}
				consumeAll(b, on, func(handled func(int)) bus.AnyConsumer { return consumer(db, handled) })
				var counted int
				if err := db.QueryRow(`SELECT SUM(n) FROM views`).Scan(&counted); err != nil || counted != b.N {
					b.Fatalf("%d of %d views were counted (%v)", counted, b.N, err)
				}
			})
		}
	}
}

func oneByOne(db *sql.DB, handled func(int)) bus.AnyConsumer {
	return bus.Consumer{Topic: "t", Group: "g", Handler: bus.Handle(func(ctx context.Context, e event.Event) error {
		_, err := db.ExecContext(ctx, `INSERT INTO views (show, n) VALUES (?, 1) ON CONFLICT (show) DO UPDATE SET n = n + 1`, e.AggregateID)
		if err == nil {
			handled(1)
		}
		return err
	})}
}

func together(db *sql.DB, handled func(int)) bus.AnyConsumer {
	return bus.BatchConsumer{Topic: "t", Group: "g", Handler: bus.HandleBatch(func(ctx context.Context, events []event.Event) error {
		counts := map[string]int{}
		for _, e := range events {
			counts[e.AggregateID]++
		}
		rows, err := json.Marshal(counts)
		if err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, strings.TrimSpace(`
			INSERT INTO views (show, n) SELECT key, value FROM json_each(?) WHERE true
			ON CONFLICT (show) DO UPDATE SET n = n + excluded.n`), string(rows))
		if err == nil {
			handled(len(events))
		}
		return err
	})}
}
