package scenarios

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// A report holds a snapshot for as long as the relay runs, so the database cannot
// clean up. The time from commit to publish stays the same, and on PostgreSQL, which
// counts them, so do the pages that a round touches.
func TestScenario27HeldSnapshot(t *testing.T) {
	onServersOnly(t)
	for _, db := range []string{"postgres", "mariadb", "mysql"} {
		t.Run(db, func(t *testing.T) { heldSnapshot(t, db) })
	}
}

func heldSnapshot(t *testing.T, name string) {
	// Where time is judged: the rounds until an index has its final height. If the pages
	// grow, they grow with each round, so some hundred rounds show it.
	grown, many := often(t, 2000, 500), often(t, 9000, 1000)
	run := startSnapshotRun(t, name)
	run.rounds(often(t, grown, 100))
	before := run.paced()
	var played *steps
	pages := 0.0
	if name == "postgres" {
		played = startSteps(t)
		played.rounds(grown)
		pages = played.pages(300)
	}
	run.hold()
	run.rounds(often(t, many, 200))
	after := run.paced()
	if played != nil {
		played.rounds(many)
		now := played.pages(300)
		if now > 1.2*pages+2 {
			t.Errorf("a round touches %.1f pages after %d rounds beside a held snapshot, and %.1f before", now, many, pages)
		}
	}
	run.end()
	r := round{control: before, judged: after}
	measured(t, "%s: p50 from commit to publish %.2f ms before and %.2f ms after %d rounds beside a held snapshot (%.2f)",
		name, before.Seconds()*1e3, after.Seconds()*1e3, many, r.ratio())
	if proved(t) != "" && r.ratio() > unchanged {
		t.Errorf("beside a held snapshot p50 is %.2f times what it was before; want at most %.1f", r.ratio(), unchanged)
	}
}

// steps is an outbox whose rounds are played statement by statement: a relay makes
// sometimes one look more and sometimes one less, and the pages of a round vary with
// that.
type steps struct {
	t     *testing.T
	db    *sql.DB
	store driver.SQLStore
	box   *outbox.Outbox
	lease driver.Lease
	after driver.Mark
}

func startSteps(t *testing.T) *steps {
	t.Helper()
	s := &steps{t: t, db: servicetest.Postgres(t)}
	s.db.SetMaxOpenConns(1) // touched makes one session report
	var err error
	s.store, err = pgoutbox.New(s.db, pgoutbox.Config{Prefix: "steps"})
	s.must(err)
	s.must(s.store.Migrate(t.Context()))
	s.box, err = outbox.New(s.store, outbox.Config{Topic: "held"})
	s.must(err)
	t.Cleanup(func() { s.must(s.box.Close(context.WithoutCancel(t.Context()))) })
	s.lease, err = s.store.Lease(t.Context(), 0, "steps", time.Hour)
	s.must(err)
	return s
}

func (s *steps) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *steps) rounds(n int) {
	s.t.Helper()
	ctx := s.t.Context()
	for range n {
		e, err := outboxtest.NewEvent("key", 1)
		s.must(err)
		s.must(sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error { return s.box.Append(ctx, tx, e) }))
		batch, err := s.store.Read(ctx, s.lease, driver.Query{After: s.after, Limit: 10})
		s.must(err)
		if len(batch.Items) != 1 {
			s.t.Fatalf("%d events were read, want the one that was appended", len(batch.Items))
		}
		item := &batch.Items[0]
		s.must(s.store.Settle(ctx, s.lease, driver.Settlement{Published: []*driver.Item{item}, Move: item.Mark, TTL: time.Hour}))
		s.after = batch.Next
	}
}

// pages is how many pages of the outbox's tables n rounds touch, per round.
func (s *steps) pages(n int) float64 {
	s.t.Helper()
	before := s.touched()
	s.rounds(n)
	return (s.touched() - before) / float64(n)
}

// touched reads the server's count. A session reports its pages up to ten seconds
// later, unless it is made to.
func (s *steps) touched() float64 {
	s.t.Helper()
	_, err := s.db.ExecContext(s.t.Context(), `SELECT pg_stat_force_next_flush()`)
	s.must(err)
	var now float64
	s.must(s.db.QueryRowContext(s.t.Context(), `
		SELECT coalesce(sum(coalesce(heap_blks_read, 0) + coalesce(heap_blks_hit, 0) + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0)
			+ coalesce(toast_blks_hit, 0) + coalesce(toast_blks_read, 0)), 0)
		FROM pg_statio_user_tables WHERE schemaname = current_schema() AND relname LIKE 'steps%'`).Scan(&now))
	return now
}

// snapshotRun is an outbox whose events are appended and published one by one.
type snapshotRun struct {
	t        *testing.T
	name     string
	db       *sql.DB
	box      *outbox.Outbox
	arrived  arrivals
	stop     context.CancelFunc
	done     chan error
	snapshot *sql.Tx
}

// arrivals is a publisher that records when an event arrived.
type arrivals chan time.Time

// Publish implements message.Publisher.
func (a arrivals) Publish(_ string, msgs ...*message.Message) error {
	for range msgs {
		a <- time.Now()
	}
	return nil
}

// Close implements message.Publisher.
func (arrivals) Close() error { return nil }

func startSnapshotRun(t *testing.T, name string) *snapshotRun {
	t.Helper()
	r := &snapshotRun{t: t, name: name, arrived: make(arrivals, 1), done: make(chan error, 1)}
	var store interface {
		driver.Store
		Migrate(context.Context) error
	}
	var err error
	switch name {
	case "postgres":
		r.db = servicetest.Postgres(t)
		store, err = pgoutbox.New(r.db, pgoutbox.Config{})
	case "mariadb":
		r.db = servicetest.MariaDB(t)
		store, err = mysqloutbox.New(r.db, mysqloutbox.Config{})
	default:
		r.db = servicetest.MySQL(t)
		store, err = mysqloutbox.New(r.db, mysqloutbox.Config{})
	}
	r.must(err)
	r.must(store.Migrate(t.Context()))
	r.box, err = outbox.New(store, outbox.Config{Topic: "held"})
	r.must(err)
	relay, err := outbox.NewRelay(store, r.arrived, outbox.RelayConfig{})
	r.must(err)
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	go func() { r.done <- relay.Run(ctx) }()
	r.rounds(50)
	return r
}

func (r *snapshotRun) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// hold begins a transaction that sees the database as it is now.
func (r *snapshotRun) hold() {
	r.t.Helper()
	tx, err := r.db.BeginTx(r.t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	r.must(err)
	r.snapshot = tx
	var n int
	r.must(tx.QueryRowContext(r.t.Context(), `SELECT COUNT(*) FROM outbox_messages`).Scan(&n))
}

func (r *snapshotRun) end() {
	r.t.Helper()
	r.must(r.snapshot.Rollback())
	r.stop()
	r.must(<-r.done)
	r.must(r.box.Close(r.t.Context()))
}

// once appends an event and waits until it is published.
func (r *snapshotRun) once() time.Duration {
	r.t.Helper()
	e, err := outboxtest.NewEvent("key", 1)
	r.must(err)
	r.must(sqltx.Do(r.t.Context(), r.db, func(ctx context.Context, tx *sql.Tx) error { return r.box.Append(ctx, tx, e) }))
	committed := time.Now()
	select {
	case at := <-r.arrived:
		return max(0, at.Sub(committed))
	case <-time.After(time.Minute):
		r.t.Fatal("an event was not published within a minute")
		return 0
	}
}

func (r *snapshotRun) rounds(n int) {
	r.t.Helper()
	for range n {
		r.once()
	}
}

// paced is the median from commit to publish of 100 events a second.
func (r *snapshotRun) paced() time.Duration {
	r.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var all []time.Duration
	for range often(r.t, 1500, 50) {
		<-tick.C
		all = append(all, r.once())
	}
	slices.Sort(all)
	return all[len(all)/2]
}
