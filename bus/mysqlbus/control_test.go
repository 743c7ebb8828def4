package mysqlbus_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

// The control of TestConcurrentWriters: with Watermill SQL's own adapters for
// MySQL, 16 writers make its subscriber skip messages for good.
func TestWatermillsOwnAdaptersLose(t *testing.T) {
	url := servicetest.MariaDBURL(t)
	db := transport.App(t, url, 24)
	schema := wmsql.DefaultMySQLSchema{GeneratePayloadType: func(string) string { return "LONGBLOB" }}
	sub, err := wmsql.NewSubscriber(db, wmsql.SubscriberConfig{
		ConsumerGroup: "group", SchemaAdapter: schema, OffsetsAdapter: wmsql.DefaultMySQLOffsetsAdapter{},
		InitializeSchema: true, PollInterval: time.Millisecond,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close() //nolint:errcheck // it returns nil
	ch, err := sub.Subscribe(t.Context(), "topic")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	go func() {
		for m := range ch {
			mu.Lock()
			seen[string(m.Payload)] = true
			mu.Unlock()
			m.Ack()
		}
	}()
	const writers, rate = 16, 2000
	published := 0
	for round := 1; round <= 10; round++ {
		// Nothing is lost by a reader who is far behind, as on a slow machine: from
		// the second round on there are fewer messages a second.
		each := time.Second / rate * time.Duration(min(round, 4))
		var wg sync.WaitGroup
		started := time.Now()
		for w := range writers {
			wg.Go(func() {
				for n := range rate / writers {
					<-time.After(time.Until(started.Add(time.Duration(n*writers+w) * each)))
					err := sqltx.Do(t.Context(), db, func(_ context.Context, tx *sql.Tx) error {
						pub, err := wmsql.NewPublisher(tx, wmsql.PublisherConfig{SchemaAdapter: schema}, nil)
						if err != nil {
							return err
						}
						if err := pub.Publish("topic", message.NewMessage("1", fmt.Append(nil, round, "/", w, "/", n))); err != nil {
							return err
						}
						<-time.After(time.Duration(rand.IntN(3)) * time.Millisecond)
						return nil
					})
					if err != nil {
						t.Errorf("writer %d: %v", w, err)
						return
					}
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		published += rate / writers * writers
		// What it has passed it never reads again: once it stands at the last row,
		// whatever it has not seen is lost.
		for {
			var behind int
			err := db.QueryRow("SELECT (SELECT MAX(`offset`) FROM watermill_topic) - (SELECT offset_acked FROM watermill_offsets_topic)").Scan(&behind)
			if err != nil {
				t.Fatal(err)
			}
			if behind == 0 {
				break
			}
			<-time.After(10 * time.Millisecond)
		}
		mu.Lock()
		lost := published - len(seen)
		mu.Unlock()
		t.Logf("round %d: %d published, %d lost, %v", round, published, lost, time.Since(started))
		if lost > 0 {
			return
		}
	}
	t.Errorf("of %d messages none is lost: the control proves nothing", published)
}
