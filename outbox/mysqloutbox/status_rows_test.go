package mysqloutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

func appendTo(t testing.TB, db *sql.DB, store driver.Store, events ...event.Event) {
	t.Helper()
	box, err := outbox.New(store, outbox.Config{Topic: "events"})
	if err != nil {
		t.Fatal(err)
	}
	err = inTx(db)(t.Context(), func(ctx context.Context, tx sqltx.Execer) error { return box.Append(ctx, tx, events...) })
	if err != nil {
		t.Fatal(err)
	}
}

// TestStatusRows follows two events from PENDING to PUBLISHED and to FAILED.
func TestStatusRows(t *testing.T) { servicetest.EachMySQL(t, testStatusRows) }

func testStatusRows(t *testing.T, _ servicetest.MySQLServer) {
	store, db := openStatus(t, mysqloutbox.Config{})
	good, bad := newEvent(t, "good", 1), newEvent(t, "bad", 1)
	appendTo(t, db, store, good, bad)
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
			FROM outbox_events WHERE id = ? AND created_at > UTC_TIMESTAMP() - INTERVAL 1 MINUTE`, id).
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
	if err := relay.Drain(within(t, 20*time.Second)); err != nil {
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

// TestStatusLateCommit: an event commits after a later one was read.
func TestStatusLateCommit(t *testing.T) { servicetest.EachMySQL(t, testStatusLateCommit) }

func testStatusLateCommit(t *testing.T, _ servicetest.MySQLServer) {
	store, db := openStatus(t, mysqloutbox.Config{})
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t, 20*time.Second)
	late, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Append(ctx, late, newEvent(t, "late", 1)); err != nil {
		t.Fatal(err)
	}
	appendTo(t, db, store, newEvent(t, "early", 1))

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
	appendTo(t, db, store, newEvent(t, "late", 2))
	// The batch is not settled yet: events in flight must not be read again.
	second, err := store.Read(ctx, lease, driver.Query{After: first.Next, Limit: 10})
	if err != nil || len(second.Items) != 2 || second.Items[0].Key != "late" || second.Items[1].Key != "late" ||
		second.Items[0].ID >= first.Items[0].ID || second.Items[1].ID <= first.Items[0].ID {
		t.Fatalf("after the late commit %+v were read, %v; want both events of its key in their order", second.Items, err)
	}
	if third, err := store.Read(ctx, lease, driver.Query{After: second.Next, Limit: 10}); err != nil || len(third.Items) != 0 {
		t.Errorf("a third read returned %d events, %v; want none", len(third.Items), err)
	}
	if err := store.Release(ctx, lease); err != nil {
		t.Error(err)
	}
}

// TestStatusWaitsForNobody marks, prunes and retries events of a table that the server's
// statistics take for tiny, beside a transaction that is appending. A statement that read the
// whole table would wait for that transaction's row.
func TestStatusWaitsForNobody(t *testing.T) { servicetest.EachMySQL(t, testStatusWaitsForNobody) }

func testStatusWaitsForNobody(t *testing.T, _ servicetest.MySQLServer) {
	store, db := openStatus(t, mysqloutbox.Config{})
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, db, store, newEvent(t, "a", 1), newEvent(t, "b", 1), newEvent(t, "c", 1))
	if _, err := db.ExecContext(t.Context(), `ANALYZE TABLE outbox_events`); err != nil {
		t.Fatal(err)
	}
	open, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Rollback() //nolint:errcheck // that is its end
	if err := box.Append(t.Context(), open, newEvent(t, "a", 2)); err != nil {
		t.Fatal(err)
	}
	ctx := within(t, 10*time.Second) // the server waits for 50
	l, err := store.Lease(ctx, 0, "relay", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	b, err := store.Read(ctx, l, driver.Query{Limit: 10})
	if err != nil || len(b.Items) != 3 {
		t.Fatalf("read %d events, %v; want 3", len(b.Items), err)
	}
	err = store.Settle(ctx, l, driver.Settlement{
		Published: []*driver.Item{&b.Items[0], &b.Items[1]},
		Failures:  []driver.Failure{{Item: &b.Items[2], State: driver.Parked, Attempts: 4, Error: "x"}},
		Move:      b.Next, TTL: time.Minute,
	})
	if err != nil {
		t.Fatalf("settle: %v", err)
	}
	if n, err := store.Prune(ctx, 0, time.Now().Add(time.Hour), 10); err != nil || n != 2 {
		t.Errorf("pruning deleted %d events, %v; want 2", n, err)
	}
	if n, err := store.RetryAll(ctx); err != nil || n != 1 {
		t.Errorf("RetryAll gave %d events back, %v; want 1", n, err)
	}
}

// TestStatusPlainPool uses a pool as an application may have it: REPEATABLE READ, another time
// zone, no parsing of times, two round trips per statement, and a count of the changed rows
// instead of the matched ones.
func TestStatusPlainPool(t *testing.T) { servicetest.EachMySQL(t, testStatusPlainPool) }

func testStatusPlainPool(t *testing.T, server servicetest.MySQLServer) {
	url := strings.TrimPrefix(server.URL(t), "mysql://")
	user, address, _ := strings.Cut(url, "@")
	host, name, _ := strings.Cut(address, "/")
	db, err := sql.Open("mysql", user+"@tcp("+host+")/"+name+"?time_zone=%27%2B05%3A30%27")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store, err := mysqloutbox.New(db, mysqloutbox.Config{Status: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	pub := &outboxtest.Publisher{}
	relay, err := outbox.NewRelay(store, pub, outbox.RelayConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		appendTo(t, db, store, newEvent(t, "a", n+1), newEvent(t, "a ", n+1))
		if err := relay.Drain(within(t, 20*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if got := pub.Published(); len(got) != 6 || outboxtest.Duplicates(got)+outboxtest.Inversions(got) != 0 {
		t.Errorf("published %d events, want each of the 6 once and in order", len(got))
	}
	if n, err := store.Prune(t.Context(), 0, time.Now().Add(time.Hour), 4); err != nil || n != 4 {
		t.Errorf("pruning 4 deleted %d, %v", n, err)
	}
	if n, err := store.Prune(t.Context(), 0, time.Now().Add(-time.Hour), 4); err != nil || n != 0 {
		t.Errorf("pruning what is older than an hour deleted %d, %v; is a time not UTC?", n, err)
	}
}

// TestStatusKeysWithSpaces has keys that the collation considers equal.
func TestStatusKeysWithSpaces(t *testing.T) { servicetest.EachMySQL(t, testStatusKeysWithSpaces) }

func testStatusKeysWithSpaces(t *testing.T, _ servicetest.MySQLServer) {
	store, db := openStatus(t, mysqloutbox.Config{})
	appendTo(t, db, store, newEvent(t, "a", 1), newEvent(t, "a ", 1), newEvent(t, "a", 2))
	ctx := within(t, 20*time.Second)
	l, err := store.Lease(ctx, 0, "first", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	b, err := store.Read(ctx, l, driver.Query{Limit: 10})
	if err != nil || len(b.Items) != 3 {
		t.Fatalf("read %d events, %v", len(b.Items), err)
	}
	set := driver.Settlement{TTL: time.Minute}
	for i := range b.Items {
		set.Failures = append(set.Failures, driver.Failure{Item: &b.Items[i], State: driver.MovedAside, Attempts: 1, Error: "x"})
	}
	if err := errors.Join(store.Settle(ctx, l, set), store.Release(ctx, l)); err != nil {
		t.Fatal(err)
	}
	if l, err = store.Lease(ctx, 0, "second", time.Minute); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, a := range l.Aside {
		counts[a.Key] = a.Count
	}
	if len(counts) != 2 || counts["a"] != 2 || counts["a "] != 1 {
		t.Errorf("%v stand aside, want two events of one key and one of the other", counts)
	}
	if b, err := store.Read(ctx, l, driver.Query{Keys: []string{"a "}, Limit: 10}); err != nil || len(b.Items) != 1 {
		t.Errorf("reading one key returned %d events, %v; want 1", len(b.Items), err)
	}
}

// TestStatusOtherProcessesAreHeard has the writer and the relay on separate pools, and a relay
// that does not poll.
func TestStatusOtherProcessesAreHeard(t *testing.T) {
	servicetest.EachMySQL(t, testStatusOtherProcessesAreHeard)
}

func testStatusOtherProcessesAreHeard(t *testing.T, server servicetest.MySQLServer) {
	url := server.URL(t)
	open := func() (driver.SQLStore, *sql.DB) {
		db, err := mysqldb.Open(url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		store, err := mysqloutbox.New(db, mysqloutbox.Config{Status: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		return store, db
	}
	relayStore, _ := open()
	pub := run(t, relayStore)
	writer, db := open()
	ctx := within(t, 20*time.Second)
	for n := range 3 {
		appendTo(t, db, writer, newEvent(t, "a", n+1))
		if err := pub.WaitFor(ctx, n+1); err != nil {
			t.Fatal(err)
		}
	}
	off, err := mysqloutbox.New(db, mysqloutbox.Config{Status: true, Poll: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := off.(driver.Listener).Listen(ctx, func() {}); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("Listen without polling returned %v, want ErrUnsupported", err)
	}
}

func TestStatusAppendLimits(t *testing.T) { servicetest.EachMySQL(t, testStatusAppendLimits) }

func testStatusAppendLimits(t *testing.T, _ servicetest.MySQLServer) {
	store, db := openStatus(t, mysqloutbox.Config{})
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	e := newEvent(t, strings.Repeat("é", 1000), 1)
	appendTo(t, db, store, e)
	e = newEvent(t, strings.Repeat("é", 1001), 1)
	err = inTx(db)(t.Context(), func(ctx context.Context, tx sqltx.Execer) error { return box.Append(ctx, tx, e) })
	if err == nil || !strings.Contains(err.Error(), "at most 1000 fit") {
		t.Errorf("a key of 1001 characters was answered with %v", err)
	}
}

func TestStatusRejects(t *testing.T) {
	if _, err := mysqloutbox.New(nil, mysqloutbox.Config{Status: true}); err == nil {
		t.Error("New accepted no pool")
	}
	for _, n := range []int{-1, 5000} {
		if _, err := mysqloutbox.New(&sql.DB{}, mysqloutbox.Config{Status: true, Shards: n}); err == nil || !strings.Contains(err.Error(), "Shards") {
			t.Errorf("New with %d shards returned %v, want an error that names Shards", n, err)
		}
	}
}
