package outboxtest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/sqltx"
)

// StressConfig configures [Stress]. Store, DB and Unrelated must be set.
type StressConfig struct {
	Store driver.Store
	// DB is the writers' pool on the store's database.
	DB *sql.DB
	// Unrelated is the pool of a long transaction that does not touch the outbox: DB if several
	// transactions can write, a read-only pool on SQLite.
	Unrelated *sql.DB
	// UnrelatedReads makes that transaction a reader.
	UnrelatedReads bool
	// UnrelatedFor is how long each such transaction stays open; 5 s when zero.
	UnrelatedFor time.Duration

	Duration time.Duration // of writing, at least; 20 s when zero
	// Events is how many events are committed at least; 100 when zero. On a slow machine the
	// writing goes on, for up to a minute, until there are so many, one of them was published
	// beside the unrelated transaction, and the naive reader, if any, has skipped one.
	Events   int
	Writers  int           // 16 when zero
	Keys     int           // aggregates; 50 when zero
	MaxDelay time.Duration // each transaction waits up to this before its end; 20 ms when zero
	Rollback int           // percentage of transactions that roll back; 10 when zero
	// Naive also runs the reader that asks for ids above the last one.
	Naive bool
	Relay outbox.RelayConfig

	// Faults, when not nil, lets relays and servers fail during the run.
	Faults *StressFaults
}

// StressFaults injects faults into a stress run.
type StressFaults struct {
	// Relays publishes until ctx is done, for example in separate processes, instead of the
	// relay of the run. It calls published for each published event.
	Relays func(ctx context.Context, published func(id, aggregate string, version uint64)) error
	// Strike is called while writers write, and returns when they may end. Until then they
	// ignore errors of the database.
	Strike func(ctx context.Context) error
	// Committed returns the ids of the events in the database at the end: a failover can lose
	// committed events.
	Committed func(ctx context.Context) ([]string, error)
}

func (c StressConfig) withDefaults() StressConfig {
	c.UnrelatedFor = cmp.Or(c.UnrelatedFor, 5*time.Second)
	c.Duration = cmp.Or(c.Duration, 20*time.Second)
	c.Events = cmp.Or(c.Events, 100)
	c.Writers = cmp.Or(c.Writers, 16)
	c.Keys = cmp.Or(c.Keys, 50)
	c.MaxDelay = cmp.Or(c.MaxDelay, 20*time.Millisecond)
	c.Rollback = cmp.Or(c.Rollback, 10)
	return c
}

// StressResult is the result of a stress run.
type StressResult struct {
	Appended    int // events whose transaction committed
	Lost        int // of those, not published
	Uncommitted int // published although the transaction did not commit
	Duplicated  int // published more than once
	Inverted    int // published after a later event of their aggregate
	Beside      int // events whose transaction began, committed and was published within one unrelated transaction
	NaiveLost   int // events that the naive reader never saw; -1 when it did not run

	P50, P99 time.Duration // from the commit's return to the publisher
}

// String returns one line for a report.
func (r StressResult) String() string {
	naive := "not run"
	if r.NaiveLost >= 0 {
		naive = fmt.Sprint("lost ", r.NaiveLost)
	}
	return fmt.Sprintf("appended %d, lost %d, uncommitted %d, duplicated %d, inverted %d, beside the unrelated transaction %d, p50 %v, p99 %v; naive reader %s",
		r.Appended, r.Lost, r.Uncommitted, r.Duplicated, r.Inverted, r.Beside, r.P50.Round(10*time.Microsecond), r.P99.Round(10*time.Microsecond), naive)
}

// Stress appends from many writers whose transactions commit out of order or roll back, beside
// a long unrelated transaction, and checks the events that a relay publishes. The Sequence of
// each event is its aggregate's version, taken under the aggregate's row lock: that is the
// order of commits.
//
// Stress creates the tables stress_aggregates and stress_noise. They must not exist, unless an
// earlier run created them.
func Stress(ctx context.Context, cfg StressConfig) (StressResult, error) {
	cfg = cfg.withDefaults()
	if cfg.Store == nil || cfg.DB == nil || cfg.Unrelated == nil {
		return StressResult{}, errors.New("outboxtest: stress: Store, DB and Unrelated must be set")
	}
	s := &stress{cfg: cfg, commits: map[string]time.Time{}, taken: map[string]bool{}, seen: map[string]int{}, at: map[string]time.Time{},
		began: map[string]int{}, naive: map[string]bool{}}
	if err := s.tables(ctx); err != nil {
		return StressResult{}, fmt.Errorf("outboxtest: stress: %w", err)
	}
	if err := s.run(ctx); err != nil {
		return StressResult{}, fmt.Errorf("outboxtest: stress: %w", err)
	}
	return s.result(), nil
}

type stress struct {
	cfg StressConfig
	box *outbox.Outbox

	mu      sync.Mutex
	commits map[string]time.Time // event id → when its commit returned
	taken   map[string]bool      // event id → its transaction was rolled back on purpose
	seen    map[string]int       // event id → publications
	at      map[string]time.Time // event id → first publication
	first   []publication        // first publications, in their order
	turn    int                  // of the unrelated transactions
	open    int                  // the turn of the open one; 0 when none is open
	began   map[string]int       // event id → open when its transaction began
	beside  int
	naive   map[string]bool
	skipped bool // the naive reader has skipped an event for good
}

type publication struct {
	id, aggregate string
	version       uint64
}

func (s *stress) tables(ctx context.Context) error {
	for _, q := range []string{
		`CREATE TABLE IF NOT EXISTS stress_aggregates (id INTEGER PRIMARY KEY, version BIGINT NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS stress_noise (n INTEGER NOT NULL)`,
	} {
		if _, err := s.cfg.DB.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return sqltx.Do(ctx, s.cfg.DB, func(ctx context.Context, tx *sql.Tx) error {
		// Numbers are in the text, because placeholders differ by database.
		if _, err := tx.ExecContext(ctx, `DELETE FROM stress_aggregates`); err != nil {
			return err
		}
		for i := range s.cfg.Keys {
			if _, err := tx.ExecContext(ctx, fmt.Sprintf(`INSERT INTO stress_aggregates (id, version) VALUES (%d, 0)`, i)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *stress) run(ctx context.Context) (err error) {
	if s.box, err = outbox.New(s.cfg.Store, outbox.Config{Topic: "stress"}); err != nil {
		return err
	}
	relays := func(ctx context.Context) error { return s.cfg.Faults.Relays(ctx, s.published) }
	if s.cfg.Faults == nil {
		relay, err := outbox.NewRelay(s.cfg.Store, s, s.cfg.Relay)
		if err != nil {
			return err
		}
		relays = relay.Run
	}
	all, stop := context.WithCancel(ctx)
	defer stop()
	writing, cancel := context.WithCancel(all)
	defer cancel()

	var readers, writers sync.WaitGroup
	var mu sync.Mutex
	fail := func(e error) {
		mu.Lock()
		err = errors.Join(err, e)
		mu.Unlock()
		if e != nil {
			stop()
		}
	}
	readers.Go(func() { fail(relays(all)) })
	if s.cfg.Naive {
		readers.Go(func() { fail(s.readNaively(all)) })
	}
	writers.Go(func() {
		defer cancel()
		if s.cfg.Faults != nil {
			fail(s.cfg.Faults.Strike(all))
		}
		s.awaitEnough(all)
	})
	writers.Go(func() { fail(s.unrelated(writing)) })
	for range s.cfg.Writers {
		writers.Go(func() { fail(s.write(writing)) })
	}
	writers.Wait()
	fail(s.survivors(all))
	s.settleDown(all)
	stop()
	readers.Wait()
	return errors.Join(err, s.box.Close(ctx), ctx.Err())
}

// survivors removes the commits that a fault has undone, and adds those whose answer was lost.
func (s *stress) survivors(ctx context.Context) error {
	if s.cfg.Faults == nil {
		return nil
	}
	ids, err := s.cfg.Faults.Committed(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	commits := make(map[string]time.Time, len(ids))
	for _, id := range ids {
		commits[id] = s.commits[id]
	}
	s.commits = commits
	return nil
}

// awaitEnough returns when the run has enough events, or after a minute more.
func (s *stress) awaitEnough(ctx context.Context) {
	const patience = time.Minute
	_ = backoff.Sleep(ctx, s.cfg.Duration)
	enough := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.commits) >= s.cfg.Events && s.beside > 0 && (s.skipped || !s.cfg.Naive)
	}
	for since := time.Now(); ctx.Err() == nil && !enough() && time.Since(since) < patience; {
		_ = backoff.Sleep(ctx, 20*time.Millisecond)
	}
}

// settleDown waits until all events are published, or no more arrive for a while.
func (s *stress) settleDown(ctx context.Context) {
	const patience = 30 * time.Second
	last, since := -1, time.Now()
	for ctx.Err() == nil {
		missing := 0
		s.mu.Lock()
		for id := range s.commits {
			if s.seen[id] == 0 || (s.cfg.Naive && !s.naive[id]) {
				missing++
			}
		}
		lost := 0
		for id := range s.commits {
			if s.seen[id] == 0 {
				lost++
			}
		}
		s.mu.Unlock()
		if missing == 0 {
			return
		}
		if missing != last {
			last, since = missing, time.Now()
		}
		// The events that the naive reader has skipped never arrive.
		if waited := time.Since(since); waited > patience || (lost == 0 && waited > time.Second) {
			return
		}
		_ = backoff.Sleep(ctx, 20*time.Millisecond)
	}
}

// Publish implements message.Publisher.
func (s *stress) Publish(_ string, msgs ...*message.Message) error {
	for _, msg := range msgs {
		e, err := event.Decode(msg)
		if err != nil {
			return err
		}
		s.published(e.ID, e.AggregateID, e.Sequence)
	}
	return nil
}

func (s *stress) published(id, aggregate string, version uint64) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[id]++; s.seen[id] > 1 {
		return
	}
	s.at[id] = now
	s.first = append(s.first, publication{id, aggregate, version})
	if s.open > 0 && s.began[id] == s.open {
		s.beside++
	}
}

// Close implements message.Publisher.
func (*stress) Close() error { return nil }

func (s *stress) result() StressResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := StressResult{Appended: len(s.commits), Inverted: s.inverted(), Beside: s.beside, NaiveLost: -1}
	var latencies []time.Duration
	for id, committed := range s.commits {
		if s.seen[id] == 0 {
			r.Lost++
			continue
		}
		if !committed.IsZero() { // the answer of its commit has arrived
			// The relay may publish before the commit has returned to its writer.
			latencies = append(latencies, max(0, s.at[id].Sub(committed)))
		}
	}
	for id, n := range s.seen {
		if s.taken[id] {
			r.Uncommitted++
		}
		r.Duplicated += n - 1
	}
	if s.cfg.Naive {
		r.NaiveLost = 0
		for id := range s.commits {
			if !s.naive[id] {
				r.NaiveLost++
			}
		}
	}
	slices.Sort(latencies)
	if n := len(latencies); n > 0 {
		r.P50, r.P99 = latencies[n/2], latencies[n*99/100]
	}
	return r
}

// inverted counts the events that were published after a later one of their aggregate, both
// committed.
func (s *stress) inverted() (n int) {
	highest := map[string]uint64{}
	for _, p := range s.first {
		if _, ok := s.commits[p.id]; !ok {
			continue
		}
		if p.version < highest[p.aggregate] {
			n++
		}
		highest[p.aggregate] = max(highest[p.aggregate], p.version)
	}
	return n
}
