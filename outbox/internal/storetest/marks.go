package storetest

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox/driver"
)

// add appends an event of each of n keys.
func add(t *testing.T, store driver.Store, db *sql.DB, n int) {
	t.Helper()
	events := make([]event.Event, n)
	for i := range events {
		events[i] = Event(t, fmt.Sprint("key", i), 1)
	}
	Append(t, db, store, events...)
}

// StatusMarksByID has other events take the rows of events that a relay has read, as after a failover
// to a replica that lags: none of them is marked, regardless of the outcome of the events that
// were read.
func (d Database) StatusMarksByID(t *testing.T) {
	store, db := d.Store(t, Config{Status: true})
	ctx := t.Context()
	marked := func() (n int) {
		t.Helper()
		if err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM outbox_events WHERE state <> 'PENDING' OR attempts > 0`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const rows = 4
	for _, failing := range []bool{false, true} {
		add(t, store, db, rows)
		lease, err := store.Lease(ctx, 0, "me", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		b, err := store.Read(ctx, lease, driver.Query{Limit: 100})
		if err != nil || len(b.Items) != rows {
			t.Fatalf("read %d events, %v; want %d", len(b.Items), err, rows)
		}
		set := driver.Settlement{TTL: time.Minute}
		for i := range b.Items {
			it := &b.Items[i]
			switch {
			case failing && i == 0:
				set.Failures = append(set.Failures, driver.Failure{Item: it, State: driver.Parked, Attempts: 1, Error: "no"})
			case failing && i == 1:
				set.Failures = append(set.Failures, driver.Failure{Item: it, State: driver.MovedAside, Attempts: 1, Error: "no"})
			default:
				set.Published = append(set.Published, it)
			}
			other := uuid.NewString()
			if _, err := db.ExecContext(ctx, fmt.Sprintf(`UPDATE outbox_events SET id = '%s' WHERE seq = %d`, other, it.ID)); err != nil {
				t.Fatal(err)
			}
		}
		before := marked()
		if err := store.Settle(ctx, lease, set); err != nil {
			t.Fatal(err)
		}
		if n := marked() - before; n != 0 {
			t.Errorf("with failures (%v) %d events were marked that were not read", failing, n)
		}
		lease, err = store.Lease(ctx, 0, "me", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if b, err = store.Read(ctx, lease, driver.Query{Limit: 100}); err != nil || len(b.Items) != rows {
			t.Fatalf("read %d events afterwards, %v; want the %d that took the rows", len(b.Items), err, rows)
		}
		set = driver.Settlement{TTL: time.Minute, Move: b.Next}
		for i := range b.Items {
			set.Published = append(set.Published, &b.Items[i])
		}
		if err := store.Settle(ctx, lease, set); err != nil {
			t.Fatal(err)
		}
		if n := marked() - before; n != rows {
			t.Errorf("%d of the %d events that were read are marked", n, rows)
		}
	}
}
