package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// Park parks the first event of a shard and returns its id.
func Park(t testing.TB, store driver.Store, shard int) int64 {
	t.Helper()
	ctx := t.Context()
	l, err := store.Lease(ctx, shard, "parker", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	b, err := store.Read(ctx, l, driver.Query{Limit: 1})
	if err != nil || len(b.Items) != 1 {
		t.Fatalf("read %d events, %v", len(b.Items), err)
	}
	parked := driver.Failure{Item: &b.Items[0], State: driver.Parked, Attempts: 1, Error: "x"}
	if err := store.Settle(ctx, l, driver.Settlement{Failures: []driver.Failure{parked}, Move: b.Next, TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if err := store.Release(ctx, l); err != nil {
		t.Fatal(err)
	}
	return b.Items[0].ID
}

// FewerShards parks an event of the last shard, and makes the outbox smaller as the error of a wrong
// number says: the event is counted, and retried to a shard that has a reader.
func (d Database) FewerShards(t *testing.T) {
	for kind, settings := range map[string]string{"cursor": "outbox_settings", "status": "outbox_event_settings"} {
		t.Run(kind, func(t *testing.T) {
			c := Config{Status: kinds[kind], Shards: 4}
			store, db := d.Store(t, c)
			for i := range 100 { // some of them are in the last shard
				Append(t, db, store, Event(t, fmt.Sprint("k", i), 1))
			}
			Park(t, store, 3)
			pub := &outboxtest.Publisher{}
			drain := func() {
				relay, err := outbox.NewRelay(store, pub, outbox.RelayConfig{})
				if err != nil {
					t.Fatal(err)
				}
				if err := relay.Drain(Within(t, time.Minute)); err != nil {
					t.Fatal(err)
				}
			}
			drain()
			if _, err := db.ExecContext(t.Context(), `UPDATE `+settings+` SET value = '2' WHERE name = 'shards'`); err != nil {
				t.Fatal(err)
			}
			c.Shards = 2
			store = d.on(t, db, c)
			parked := 0
			stats, err := store.Stats(t.Context())
			for _, s := range stats {
				parked += s.Parked
			}
			if err != nil || parked != 1 {
				t.Errorf("%d events are counted as parked, %v; want the one", parked, err)
			}
			if n, err := store.RetryAll(t.Context()); err != nil || n != 1 {
				t.Errorf("RetryAll = %d, %v", n, err)
			}
			drain()
			if n := len(pub.Published()); n != 100 {
				t.Errorf("%d events are published in the end, want 100", n)
			}
		})
	}
}
