package pgoutbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

func TestStatusLateCommit(t *testing.T) { database.StatusLateCommit(t) }

// killed is the store of a killed process: none of its calls arrive.
type killed struct {
	driver.Store
	gone chan struct{}
}

func (k killed) Settle(ctx context.Context, l driver.Lease, s driver.Settlement) error {
	select {
	case <-k.gone:
		return errors.New("killed")
	default:
		return k.Store.Settle(ctx, l, s)
	}
}

func (k killed) Release(ctx context.Context, l driver.Lease) error {
	select {
	case <-k.gone:
		return errors.New("killed")
	default:
		return k.Store.Release(ctx, l)
	}
}

// TestStatusManyRelays spreads four shards over three relays, each like a separate process, on
// hot keys, and kills one of them half-way.
func TestStatusManyRelays(t *testing.T) {
	const batch = 50
	url := servicetest.PostgresURL(t)
	open := func() driver.SQLStore {
		db, err := pgdb.Open(url)
		require.NoError(t, err)
		t.Cleanup(func() { db.Close() })
		store, err := pgoutbox.New(db, pgoutbox.Config{Status: true, Shards: 4})
		require.NoError(t, err)
		return store
	}
	require.NoError(t, open().Migrate(t.Context()))
	ctx := storetest.Within(t, 60*time.Second)
	pub := &outboxtest.Publisher{}
	gone := make(chan struct{})
	var relays sync.WaitGroup
	stops := make([]context.CancelFunc, 3)
	for i := range stops {
		var store driver.Store = open()
		cfg := outbox.RelayConfig{MaxShards: 2, Interval: 50 * time.Millisecond, LeaseTTL: time.Second, MinBatch: batch, MaxBatch: batch}
		if i == 0 {
			store, cfg.ShutdownTimeout = killed{store, gone}, time.Millisecond
		}
		relay, err := outbox.NewRelay(store, pub, cfg)
		require.NoError(t, err)
		running, stop := context.WithCancel(context.Background())
		stops[i] = stop
		relays.Go(func() {
			err := relay.Run(running)
			if i > 0 && err != nil {
				t.Errorf("relay %d: %v", i, err)
			}
		})
	}
	defer relays.Wait()
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	writer := open()
	db, err := pgdb.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	box, err := outbox.New(writer, outbox.Config{Topic: "t"})
	require.NoError(t, err)
	const rounds, keys = 60, 20
	for n := range rounds {
		events := make([]event.Event, keys)
		for i := range events {
			events[i] = storetest.Event(t, fmt.Sprint("hot-", i), n+1)
		}
		err := storetest.InTx(db)(ctx, func(ctx context.Context, tx sqltx.Execer) error { return box.Append(ctx, tx, events...) })
		require.NoError(t, err)
		if n == rounds/2 {
			close(gone)
			stops[0]()
		}
	}
	err = pub.Wait(ctx, "every event", func(got []outboxtest.Publication) bool {
		return len(got)-outboxtest.Duplicates(got) == rounds*keys
	})
	require.NoError(t, err)
	got := pub.Published()
	assert.Equal(t, 0, outboxtest.Inversions(got), "events were first published after a later one of their key")
	// The killed relay held two shards at most.
	if n := outboxtest.Duplicates(got); n > 2*batch {
		t.Errorf("one crash repeated %d events, want %d at most", n, 2*batch)
	}
	assert.NoError(t, box.Close(ctx))
}

func TestStatusOtherProcessesAreWoken(t *testing.T) {
	url := servicetest.PostgresURL(t)
	open := func() (driver.SQLStore, func(e event.Event), *outbox.Outbox) {
		db, err := pgdb.Open(url)
		require.NoError(t, err)
		t.Cleanup(func() { db.Close() })
		store, err := pgoutbox.New(db, pgoutbox.Config{Status: true})
		require.NoError(t, err)
		box, err := outbox.New(store, outbox.Config{Topic: "t"})
		require.NoError(t, err)
		return store, func(e event.Event) {
			t.Helper()
			err := storetest.InTx(db)(t.Context(), func(ctx context.Context, tx sqltx.Execer) error { return box.Append(ctx, tx, e) })
			require.NoError(t, err)
		}, box
	}
	relayStore, _, _ := open()
	require.NoError(t, relayStore.Migrate(t.Context()))
	pub := run(t, relayStore, outbox.RelayConfig{})
	writer, write, box := open()
	ctx := storetest.Within(t, 20*time.Second)
	for i := range 3 {
		write(storetest.Event(t, "a", i+1))
		require.NoError(t, pub.WaitFor(ctx, i+1))
	}
	// Events that an operator retries are published at once, too.
	db, err := pgdb.Open(url)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(ctx, `UPDATE outbox_events SET state = 'FAILED', attempts = 4, published = false,
		first_failed_at = now(), failed_at = now() WHERE seq = 1`)
	require.NoError(t, err)
	if n, err := writer.RetryAll(ctx); err != nil || n != 1 {
		t.Fatalf("RetryAll = %d, %v", n, err)
	}
	require.NoError(t, pub.WaitFor(ctx, 4))
	var typ, aggregate, id string
	if err := db.QueryRowContext(ctx, `SELECT event_type, aggregate_type, aggregate_id FROM outbox_events ORDER BY seq DESC LIMIT 1`).
		Scan(&typ, &aggregate, &id); err != nil || typ != "Tested" || aggregate != "test" || id != "a" {
		t.Errorf("a retried event has type %q, aggregate %q %q, %v", typ, aggregate, id, err)
	}
	assert.NoError(t, box.Close(ctx))
}

func TestStatusRebase(t *testing.T) {
	store, db := openStatus(t, pgoutbox.Config{Shards: 2})
	ctx := storetest.Within(t, 20*time.Second)
	write := func(n int) {
		t.Helper()
		storetest.Append(t, db, store, storetest.Event(t, "a", n), storetest.Event(t, "b", n))
	}
	pub := &outboxtest.Publisher{}
	relay, err := outbox.NewRelay(store, pub, outbox.RelayConfig{})
	require.NoError(t, err)
	write(1)
	require.NoError(t, relay.Drain(ctx))
	var restored time.Time
	require.NoError(t, db.QueryRowContext(ctx, `SELECT clock_timestamp()`).Scan(&restored))
	write(2)
	// The same state as after the dump was restored on another system whose transaction ids are
	// below those of the rows.
	for _, q := range []string{
		`UPDATE outbox_event_progress SET position = regexp_replace(position, '^[0-9]+', '1')`,
		`UPDATE outbox_events SET xid = (pg_current_xact_id()::text::bigint + 1000000)::text::xid8`,
	} {
		_, err := db.ExecContext(ctx, q)
		require.NoError(t, err)
	}
	require.ErrorIs(t, relay.Run(ctx), driver.ErrForeignDatabase, "Run on foreign positions")
	require.NoError(t, store.(driver.Rebaser).Rebase(ctx, restored))
	write(3)
	require.NoError(t, relay.Drain(ctx))
	if got := pub.Published(); len(got) != 6 || outboxtest.Duplicates(got)+outboxtest.Inversions(got) != 0 {
		t.Errorf("published %d events, want each of the 6 once and in order", len(got))
	}
	require.NoError(t, store.(driver.Rebaser).Rebase(ctx, time.Now().Add(-time.Hour)))
	require.NoError(t, relay.Drain(ctx))
	if got := pub.Published(); len(got) != 12 {
		t.Errorf("after a rebase to before everything %d events were published in all, want 12", len(got))
	}
}

// TestStatusRowsAhead: rows that were copied from a server whose transaction ids are ahead of
// this one are refused until a rebase, not published again and again.
func TestStatusRowsAhead(t *testing.T) {
	store, db := openStatus(t, pgoutbox.Config{})
	ctx := storetest.Within(t, 20*time.Second)
	storetest.Append(t, db, store, storetest.Event(t, "a", 1), storetest.Event(t, "b", 1))
	_, err := db.ExecContext(ctx, `UPDATE outbox_events SET xid = '90000000000000' WHERE event_key = 'a'`)
	require.NoError(t, err)
	pub := &outboxtest.Publisher{}
	relay, err := outbox.NewRelay(store, pub, outbox.RelayConfig{})
	require.NoError(t, err)
	if err := relay.Run(ctx); !errors.Is(err, driver.ErrForeignDatabase) || !strings.Contains(err.Error(), "90000000000000") {
		t.Fatalf("Run on rows ahead of the server returned %v, want ErrForeignDatabase that names the transaction", err)
	}
	assert.Empty(t, pub.Published(), "events were published")
	require.NoError(t, store.(driver.Rebaser).Rebase(ctx, time.Now()))
	storetest.Append(t, db, store, storetest.Event(t, "a", 2))
	require.NoError(t, relay.Drain(ctx))
	if got := pub.Published(); len(got) != 3 || outboxtest.Inversions(got)+outboxtest.Duplicates(got) != 0 {
		t.Errorf("after the rebase %d events were published, want each of 3 once and in order", len(got))
	}
}

// TestStatusReadOnAnotherServer: a position read in another run of the server ends the lease.
func TestStatusReadOnAnotherServer(t *testing.T) {
	store, db := openStatus(t, pgoutbox.Config{})
	ctx := storetest.Within(t, 20*time.Second)
	storetest.Append(t, db, store, storetest.Event(t, "a", 1), storetest.Event(t, "a", 2))
	lease, err := store.Lease(ctx, 0, "reader", time.Minute)
	require.NoError(t, err)
	for _, limit := range []int{1, 10} { // within the window, and behind it
		b, err := store.Read(ctx, lease, driver.Query{Limit: limit})
		require.NoError(t, err)
		at, ok := b.Next.(*log.Position)
		if !ok || at.Server == "" {
			t.Fatalf("the mark %+v names no server", b.Next)
		}
		at.Server += "0"
		if _, err := store.Read(ctx, lease, driver.Query{After: at, Limit: 10}); !errors.Is(err, driver.ErrLeaseLost) {
			t.Errorf("after %d events: %v, want ErrLeaseLost", limit, err)
		}
	}
	assert.NoError(t, store.Release(ctx, lease))
}

func TestStatusIdleRelayAsksRarely(t *testing.T) {
	cfg, err := pgx.ParseConfig(servicetest.PostgresURL(t))
	require.NoError(t, err)
	var c counter
	cfg.Tracer = &c
	db := stdlib.OpenDB(*cfg)
	t.Cleanup(func() { db.Close() })
	store, err := pgoutbox.New(db, pgoutbox.Config{Status: true})
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	asksRarely(t, &c, store.(listening))
}
