package sqliteoutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

func appendTo(t testing.TB, h outboxtest.Harness, events ...event.Event) {
	t.Helper()
	box, err := outbox.New(h.Store, outbox.Config{Topic: "events"})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.InTx(t.Context(), func(ctx context.Context, tx sqltx.Execer) error { return box.Append(ctx, tx, events...) }); err != nil {
		t.Fatal(err)
	}
}

func numbered(t testing.TB, key string, n int) event.Event {
	t.Helper()
	e, err := outboxtest.NewEvent(key, n)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestStatusRows follows two events from PENDING to PUBLISHED and to FAILED.
func TestStatusRows(t *testing.T) {
	h, db, _ := openStatus(t, 1, false)
	good, bad := numbered(t, "good", 1), numbered(t, "bad", 1)
	appendTo(t, h, good, bad)
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
			FROM outbox_events WHERE id = ? AND created_at > (unixepoch() - 60) * 1000000`, id).
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
	relay, err := outbox.NewRelay(h.Store, pub, outbox.RelayConfig{Retry: quick, Chunk: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := relay.Drain(t.Context()); err != nil {
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

// TestStatusOtherProcessesAreHeard has the writer and the relay on separate pools, and a relay
// that does not poll.
func TestStatusOtherProcessesAreHeard(t *testing.T) {
	h, _, path := openStatus(t, 1, false)
	relayDB, err := sqlitedb.Open(path, sqlitedb.Config{Synchronous: sqlitedb.Normal})
	if err != nil {
		t.Fatal(err)
	}
	defer relayDB.Close()
	store, err := sqliteoutbox.New(relayDB, sqliteoutbox.Config{Status: true, Reader: reader(t, path)})
	if err != nil {
		t.Fatal(err)
	}
	pub := &outboxtest.Publisher{}
	relay, err := outbox.NewRelay(store, pub, outbox.RelayConfig{Interval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- relay.Run(running) }()
	for n := range 3 {
		appendTo(t, h, numbered(t, "a", n+1))
		if err := pub.WaitFor(ctx, n+1); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestStatusRejects(t *testing.T) {
	if _, err := sqliteoutbox.New(nil, sqliteoutbox.Config{Status: true}); err == nil {
		t.Error("New accepted no pool")
	}
	for _, n := range []int{-1, 5000} {
		if _, err := sqliteoutbox.New(&sql.DB{}, sqliteoutbox.Config{Status: true, Shards: n}); err == nil || !strings.Contains(err.Error(), "Shards") {
			t.Errorf("New with %d shards returned %v, want an error that names Shards", n, err)
		}
	}
}
