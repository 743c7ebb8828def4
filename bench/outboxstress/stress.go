// Package outboxstress shows that the outbox neither loses, doubles nor reorders
// when transactions commit out of the order of their ids.
//
// Many writers change aggregates under their row locks and append an event with
// the new version, wait for a random time before they commit, and roll some of
// the transactions back, while an unrelated transaction stays open for seconds
// at a time. A relay publishes; beside it a naive reader asks for "id greater
// than the last one seen". On PostgreSQL the naive reader must lose rows, or the
// run has proven nothing. SQLite has one writer, so ids are in commit order
// there and the naive reader loses nothing; the unrelated transaction is a reader.
package outboxstress

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/outbox"
)

// Target is a database under stress.
type Target struct {
	Name  string
	DB    *sql.DB // writers and relay; several connections where the database has several writers
	Store outbox.Store
	// Foreign opens a transaction that has nothing to do with the outbox, and
	// returns what ends it.
	Foreign func(ctx context.Context) (end func() error, err error)
	// MaxDelay is the longest wait between append and commit.
	MaxDelay time.Duration
	// NaiveLoses: ids are not in commit order, so the control must lose rows.
	NaiveLoses bool
	// Bound is the p99 from commit to publish that the run must keep.
	Bound time.Duration
	// EarlyNumber makes some writers take their transaction number before the
	// lock, in SQL; "" for none.
	EarlyNumber string
}

// Config sizes a run.
type Config struct {
	Duration   time.Duration // of writing; 20 s when zero
	Writers    int           // 16 when zero
	Aggregates int           // 64 when zero
	Foreign    time.Duration // how long the unrelated transaction stays open each time; 5 s when zero
}

func (c Config) withDefaults() Config {
	if c.Duration == 0 {
		c.Duration = 20 * time.Second
	}
	if c.Writers == 0 {
		c.Writers = 16
	}
	if c.Aggregates == 0 {
		c.Aggregates = 64
	}
	if c.Foreign == 0 {
		c.Foreign = 5 * time.Second
	}
	return c
}

// Result is what became of the committed events.
type Result struct {
	Committed, RolledBack int
	Lost                  int // committed and not published
	Duplicated            int // published more than once
	Inverted              int // published before an earlier version of the aggregate
	Phantom               int // published and not committed
	P50, P99, Max         time.Duration
	NaiveLost             int // committed and not seen by the naive reader
}

// Verdict is nil when every promise held and the control failed as it must.
func (r Result) Verdict(t Target) error {
	switch {
	case r.Committed == 0:
		return errors.New("nothing was committed")
	case r.Lost+r.Duplicated+r.Inverted+r.Phantom > 0:
		return fmt.Errorf("%d lost, %d duplicated, %d inverted, %d phantoms", r.Lost, r.Duplicated, r.Inverted, r.Phantom)
	case t.NaiveLoses && r.NaiveLost == 0:
		return errors.New("the naive reader lost nothing, so the run proves nothing")
	case !t.NaiveLoses && r.NaiveLost > 0:
		return fmt.Errorf("the naive reader lost %d where ids are in commit order", r.NaiveLost)
	case r.P99 > t.Bound:
		return fmt.Errorf("p99 latency is %v, over %v", r.P99, t.Bound)
	}
	return nil
}

// Run stresses a migrated, empty store.
func Run(ctx context.Context, t Target, cfg Config) (Result, error) {
	cfg = cfg.withDefaults()
	if err := prepare(ctx, t.DB, cfg.Aggregates); err != nil {
		return Result{}, err
	}
	box, err := outbox.New(t.Store, outbox.Config{Topic: "stress"})
	if err != nil {
		return Result{}, err
	}
	published := &recorder{times: map[string]time.Time{}, versions: map[string]uint64{}}
	relay, err := outbox.NewRelay(t.Store, published, outbox.RelayConfig{})
	if err != nil {
		return Result{}, err
	}
	relayCtx, stopRelay := context.WithCancel(ctx)
	relayed := make(chan error, 1)
	go func() { relayed <- relay.Run(relayCtx) }()
	naive := &naiveReader{db: t.DB, seen: map[string]bool{}}
	naiveCtx, stopNaive := context.WithCancel(ctx)
	read := make(chan error, 1)
	go func() { read <- naive.run(naiveCtx) }()

	w := &writers{target: t, box: box, cfg: cfg, committed: map[string]time.Time{}}
	writeErr := w.run(ctx)

	// Everything committed must come out by itself.
	drained, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for published.count() < len(w.committed) {
		if backoff.Sleep(drained, 20*time.Millisecond) != nil {
			break
		}
	}
	stopRelay()
	stopNaive()
	if err := errors.Join(writeErr, <-relayed, <-read, naive.look(ctx)); err != nil {
		return Result{}, err
	}
	return judge(w, published, naive), nil
}

func prepare(ctx context.Context, db *sql.DB, aggregates int) error {
	if _, err := db.ExecContext(ctx, `CREATE TABLE stress_aggregates (id integer PRIMARY KEY, version integer NOT NULL)`); err != nil {
		return err
	}
	for id := range aggregates {
		if _, err := db.ExecContext(ctx, fmt.Sprintf(`INSERT INTO stress_aggregates VALUES (%d, 0)`, id)); err != nil {
			return err
		}
	}
	return nil
}

func judge(w *writers, p *recorder, n *naiveReader) Result {
	r := Result{
		Committed: len(w.committed), RolledBack: int(w.rolledBack.Load()),
		Duplicated: p.duplicated, Inverted: p.inverted,
	}
	var latencies []time.Duration
	for id, at := range w.committed {
		if out, ok := p.times[id]; ok {
			latencies = append(latencies, max(out.Sub(at), 0))
		} else {
			r.Lost++
		}
		if !n.seen[id] {
			r.NaiveLost++
		}
	}
	for id := range p.times {
		if _, ok := w.committed[id]; !ok {
			r.Phantom++
		}
	}
	if len(latencies) > 0 {
		slices.Sort(latencies)
		r.P50, r.P99, r.Max = latencies[len(latencies)/2], latencies[len(latencies)*99/100], latencies[len(latencies)-1]
	}
	return r
}

// writers change aggregates until the time is over.
type writers struct {
	target Target
	box    *outbox.Outbox
	cfg    Config

	mu         sync.Mutex
	committed  map[string]time.Time // event id → just after its commit
	rolledBack atomic.Int64
}

func (w *writers) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Duration)
	defer cancel()
	errs := make([]error, w.cfg.Writers+1)
	var wg sync.WaitGroup
	for i := range w.cfg.Writers {
		wg.Go(func() {
			for ctx.Err() == nil && errs[i] == nil {
				// A change that was begun is finished, so that its outcome is known.
				errs[i] = w.change(context.WithoutCancel(ctx))
			}
		})
	}
	wg.Go(func() { errs[w.cfg.Writers] = w.foreign(ctx) })
	wg.Wait()
	return errors.Join(errs...)
}

// change raises one aggregate's version and appends the event of it.
func (w *writers) change(ctx context.Context) error {
	id := rand.IntN(w.cfg.Aggregates)
	tx, err := w.target.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // no-op after the commit
	if w.target.EarlyNumber != "" && rand.IntN(3) == 0 {
		if _, err := tx.ExecContext(ctx, w.target.EarlyNumber); err != nil {
			return err
		}
	}
	var version uint64
	query := fmt.Sprintf(`UPDATE stress_aggregates SET version = version + 1 WHERE id = %d RETURNING version`, id)
	if err := tx.QueryRowContext(ctx, query).Scan(&version); err != nil {
		return err
	}
	e, err := event.New("Changed", "stress", nil)
	if err != nil {
		return err
	}
	e.AggregateType, e.AggregateID, e.Sequence = "aggregate", fmt.Sprint(id), version
	if err := w.box.Append(ctx, tx, e); err != nil {
		return err
	}
	if w.target.MaxDelay > 0 {
		if err := backoff.Sleep(ctx, rand.N(w.target.MaxDelay)); err != nil {
			return err
		}
	}
	if rand.IntN(10) == 0 {
		w.rolledBack.Add(1)
		return tx.Rollback()
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	at := time.Now()
	w.box.Wake()
	w.mu.Lock()
	w.committed[e.ID] = at
	w.mu.Unlock()
	return nil
}

// foreign keeps one unrelated transaction open after the other.
func (w *writers) foreign(ctx context.Context) error {
	for ctx.Err() == nil {
		end, err := w.target.Foreign(context.WithoutCancel(ctx))
		if err != nil {
			return fmt.Errorf("unrelated transaction: %w", err)
		}
		_ = backoff.Sleep(ctx, w.cfg.Foreign)
		if err := end(); err != nil {
			return fmt.Errorf("unrelated transaction: %w", err)
		}
	}
	return nil
}

// recorder is the publisher: it notes when each event came, and compares each
// with the version of its aggregate that came before.
type recorder struct {
	mu                   sync.Mutex
	times                map[string]time.Time
	versions             map[string]uint64
	duplicated, inverted int
}

func (r *recorder) Publish(_ string, messages ...*message.Message) error {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range messages {
		e, err := event.Decode(m)
		if err != nil {
			return err
		}
		if _, ok := r.times[e.ID]; ok {
			r.duplicated++
			continue
		}
		r.times[e.ID] = now
		if e.Sequence != r.versions[e.AggregateID]+1 {
			r.inverted++
		}
		r.versions[e.AggregateID] = max(r.versions[e.AggregateID], e.Sequence)
	}
	return nil
}

func (r *recorder) Close() error { return nil }

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.times)
}

// naiveReader follows the table the way hand-written relays do.
type naiveReader struct {
	db   *sql.DB
	last int64
	seen map[string]bool
}

func (n *naiveReader) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := n.look(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("naive reader: %w", err)
		}
		_ = backoff.Sleep(ctx, 5*time.Millisecond)
	}
	return nil
}

// look reads what lies above the last id.
func (n *naiveReader) look(ctx context.Context) error {
	rows, err := n.db.QueryContext(ctx, fmt.Sprintf(
		`SELECT id, message_id FROM outbox_messages WHERE lane = 0 AND id > %d ORDER BY id`, n.last))
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		var id string
		if err := rows.Scan(&n.last, &id); err != nil {
			return err
		}
		n.seen[id] = true
	}
	return rows.Err()
}
