package artist

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

//go:embed sql/asks.sql
var asksSQL string

const (
	asksLease    = "artist-asks"
	asksLeaseTTL = 15 * time.Second
	// deferBatch is how many asks share a transaction.
	deferBatch = 500
	// lookEvery is how often the table is read: other processes write to it.
	lookEvery = time.Second
	// lookLatest is the longest pause while asking fails.
	lookLatest = 15 * time.Second
)

type askStatements struct{ Defer, Deferred, Answered, Later string }

// deferrals are questions that wait in the table artist_asks.
type deferrals struct {
	*desk
	askers *askers
	table  askStatements
	repeat signal.Signal // has something when the table has
}

// run writes questions to the table, and repeats those of the table.
func (d *deferrals) run(ctx context.Context) {
	var parts sync.WaitGroup
	parts.Go(func() { d.keepDeferring(ctx) })
	parts.Go(func() { d.keepRepeating(ctx) })
	parts.Wait()
}

// keepDeferring writes questions to the table that were refused or had no place in
// the queue.
func (d *deferrals) keepDeferring(ctx context.Context) {
	failed := false
	d.asks.some.Repeat(ctx, func(ctx context.Context) time.Duration {
		err := d.deferAll(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			d.cfg.Logger.Warn("refreshes that wait cannot be written down, will try again", "error", err)
		}
		if failed = err != nil; failed {
			return lookEvery
		}
		return signal.Never
	})
}

// deferAll writes all waiting questions.
func (d *deferrals) deferAll(ctx context.Context) error {
	for {
		batch := d.asks.first(deferBatch)
		if len(batch) == 0 {
			return nil
		}
		if err := d.deferred(ctx, batch); err != nil {
			return err
		}
		d.metrics.count(func(s *Stats) { s.Deferred += int64(len(batch)) })
		d.asks.written(len(batch))
		d.repeat.Wake()
	}
}

// deferred writes asks to the table, and their artists where reads look.
func (d *deferrals) deferred(ctx context.Context, batch []ask) error {
	// The list may have an artist twice; a statement must not. Writers meet in
	// one order.
	batch = slices.Clone(batch)
	slices.SortFunc(batch, func(a, b ask) int { return strings.Compare(a.id, b.id) })
	batch = slices.CompactFunc(batch, func(a, b ask) bool { return a.id == b.id })
	var wanted, asked []any
	for _, q := range batch {
		wanted, asked = append(wanted, q.id), append(asked, q.id, string(q.reason), q.request)
	}
	return d.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := store.Insert(ctx, tx, d.sql.Wanted, len(batch), wanted); err != nil {
			return err
		}
		return store.Insert(ctx, tx, d.table.Defer, len(batch), asked)
	})
}

// keepRepeating asks the questions of the table, in one process at a time.
func (d *deferrals) keepRepeating(ctx context.Context) {
	job := d.store.NewJob(asksLease, d.cfg.Holder, asksLeaseTTL, d.cfg.Logger)
	defer job.GiveBack(ctx)
	look := time.NewTimer(0)
	defer look.Stop()
	wait := lookEvery
	for written := d.repeat; ; {
		select {
		case <-ctx.Done():
			return
		case <-written:
		case <-look.C:
		}
		asked, err := d.repeatDue(ctx, job)
		switch {
		case err == nil && asked == deferBatch: // there may be more
			wait, written = lookEvery, d.repeat
			look.Reset(0)
			continue
		case err == nil || errors.Is(err, store.ErrLeaseHeld):
			wait, written = lookEvery, d.repeat
		default:
			job.Lost()
			wait, written = min(2*wait, lookLatest), nil
		}
		look.Reset(wait)
	}
}

// repeatDue asks the due questions, up to a batch, and returns their number.
// Questions that could not be asked stay.
func (d *deferrals) repeatDue(ctx context.Context, job *store.Job) (asked int, err error) {
	due, needless, until, err := d.due(ctx)
	if err != nil || len(due)+len(needless) == 0 {
		return 0, err
	}
	job.Lost() // so that it is renewed: it may have ended while nothing was due
	lease, err := job.Take(ctx)
	if err != nil {
		return 0, err
	}
	published, later, refused := d.askAll(ctx, due)
	done := slices.Sorted(slices.Values(append(needless, published...)))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.AskTimeout)
	defer cancel()
	err = d.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := lease.Keep(ctx, tx, asksLeaseTTL); err != nil {
			return err
		}
		if err := each(ctx, tx, d.table.Answered, done, until); err != nil {
			return err
		}
		return each(ctx, tx, d.table.Later, later)
	})
	return len(due) + len(needless), errors.Join(refused, err)
}

// due returns the questions to ask, the artists whose questions are obsolete, and when the
// last of all these was stored.
func (d *deferrals) due(ctx context.Context) (due []ask, needless []string, until int64, err error) {
	err = store.Each(ctx, d.store.Reader(), d.table.Deferred, []any{deferBatch}, func(row *sql.Rows) error {
		var q ask
		var at int64
		var since bool
		err := row.Scan(&q.id, &q.reason, &q.request, &at, &since)
		until = max(until, at)
		if since {
			needless = append(needless, q.id)
		} else {
			due = append(due, q)
		}
		return err
	})
	return due, needless, until, err
}

// askAll asks several at once, and stops at the first failure. Those that the
// coalescer reports as in flight are asked again later: after a failure it is unknown
// whether the lock belongs to a published request.
func (d *deferrals) askAll(ctx context.Context, all []ask) (published, later []string, err error) {
	// Asks only while the lease is surely this process's; the remaining questions stay
	// due.
	leased, cancel := context.WithTimeout(ctx, asksLeaseTTL/3)
	defer cancel()
	asking, wanted := errgroup.WithContext(leased)
	asking.SetLimit(d.cfg.Askers)
	var mu sync.Mutex
	for _, q := range all {
		asking.Go(func() error {
			if wanted.Err() != nil {
				return nil
			}
			mine, err := d.askers.ask(ctx, q)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				return err
			case mine:
				published = append(published, q.id)
			default:
				later = append(later, q.id)
			}
			return nil
		})
	}
	err = asking.Wait()
	slices.Sort(later)
	return published, later, err
}
