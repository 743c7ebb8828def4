package storetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// StatusRows follows two events from PENDING to PUBLISHED and to FAILED.
func (d Database) StatusRows(t *testing.T) {
	store, db := d.Store(t, Config{Status: true})
	good, bad := Event(t, "good", 1), Event(t, "bad", 1)
	Append(t, db, store, good, bad)
	type row struct {
		aggregateType, aggregateID, eventType, state, err string
		published, publishedAt, nextRetryAt               bool
		retries                                           int
	}
	look := func(id string) (r row) {
		t.Helper()
		var payload []byte
		err := db.QueryRowContext(t.Context(), `SELECT aggregate_type, aggregate_id, event_type, payload, state, published,
			published_at IS NOT NULL, retry_count, COALESCE(last_error, ''), next_retry_at IS NOT NULL
			FROM outbox_events WHERE `+d.Recent, id).
			Scan(&r.aggregateType, &r.aggregateID, &r.eventType, &payload, &r.state, &r.published,
				&r.publishedAt, &r.retries, &r.err, &r.nextRetryAt)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(payload), id) || !strings.Contains(string(payload), `"type":"Tested"`) {
			t.Errorf("the payload is not the whole event: %s", payload)
		}
		return r
	}
	if r, want := look(good.ID), (row{aggregateType: "test", aggregateID: "good", eventType: "Tested", state: "PENDING"}); r != want {
		t.Errorf("an appended event is %+v, want %+v", r, want)
	}
	var seen row
	tries := 0
	pub := &outboxtest.Publisher{Fail: func(topic string, e event.Event) error {
		if e.ID != bad.ID || topic != "events" {
			return nil
		}
		if tries++; tries == 3 {
			seen = look(bad.ID) // as the first retry left it
		}
		return errors.New("refused")
	}}
	quick := outbox.Backoff{Initial: time.Millisecond, Max: time.Millisecond}
	relay, err := outbox.NewRelay(store, pub, outbox.RelayConfig{Retry: quick, Chunk: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := relay.Drain(Within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	if r := look(good.ID); r.state != "PUBLISHED" || !r.published || !r.publishedAt {
		t.Errorf("a published event is %+v", r)
	}
	if seen.state != "PENDING" || seen.published || !seen.nextRetryAt || seen.err != "refused" {
		t.Errorf("an event that failed twice is %+v", seen)
	}
	if r := look(bad.ID); r.state != "FAILED" || r.published || r.publishedAt || r.retries != 3 || r.err != "refused" || tries != 4 {
		t.Errorf("after %d attempts the event given up is %+v, want 3 retries", tries, r)
	}
	if got := pub.Published(); len(got) != 2 || got[1].Topic != "events.DLT" {
		t.Errorf("%d messages were published, want the good one and a dead letter", len(got))
	}
}

// StatusLateCommit: an event commits after a later one was read.
func (d Database) StatusLateCommit(t *testing.T) {
	store, db := d.Store(t, Config{Status: true})
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := Within(t, 20*time.Second)
	late, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Append(ctx, late, Event(t, "late", 1)); err != nil {
		t.Fatal(err)
	}
	Append(t, db, store, Event(t, "early", 1))

	lease, err := store.Lease(ctx, 0, "reader", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	first, err := store.Read(ctx, lease, driver.Query{Limit: 10})
	if err != nil || len(first.Items) != 1 || first.Items[0].Key != "early" {
		t.Fatalf("beside an open transaction %d events were read, %v; want the early one", len(first.Items), err)
	}
	if err := late.Commit(); err != nil {
		t.Fatal(err)
	}
	Append(t, db, store, Event(t, "late", 2))
	// The batch is not settled yet: events in flight must not be read again.
	second, err := store.Read(ctx, lease, driver.Query{After: first.Next, Limit: 10})
	if err != nil || len(second.Items) != 2 || second.Items[0].Key != "late" || second.Items[1].Key != "late" ||
		second.Items[0].ID >= first.Items[0].ID || second.Items[1].ID <= first.Items[0].ID {
		t.Fatalf("after the late commit %+v were read, %v; want both events of its key in their order", second.Items, err)
	}
	if third, err := store.Read(ctx, lease, driver.Query{After: second.Next, Limit: 10}); err != nil || len(third.Items) != 0 {
		t.Errorf("a third read returned %d events, %v; want none", len(third.Items), err)
	}
	if err := errors.Join(store.Release(ctx, lease), box.Close(ctx)); err != nil {
		t.Error(err)
	}
}
