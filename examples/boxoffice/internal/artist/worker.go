package artist

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
)

// Fetcher gets artists; [Upstream] is one.
type Fetcher interface {
	Fetch(ctx context.Context, p event.Priority, id string) (Document, error)
}

// Worker carries out [UpdateRequest] events.
type Worker struct {
	m     *Mirror
	fetch Fetcher
	cfg   WorkerConfig
	guard *guard
	// The database, as far as the worker asks it.
	inTx   func(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error
	hashes func(ctx context.Context, ids []string) (map[string]string, error)
}

// NewWorker makes a Worker. It does no I/O.
func NewWorker(m *Mirror, f Fetcher, cfg WorkerConfig) (*Worker, error) {
	switch {
	case m == nil:
		return nil, errors.New("artist: the mirror is nil; make one with New")
	case f == nil:
		return nil, errors.New("artist: the fetcher is nil; make one with NewUpstream")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	w := &Worker{m: m, fetch: f, cfg: cfg.withDefaults(), inTx: m.store.Write, hashes: m.hashes}
	w.guard = newGuard(w.cfg.BreakerOpen, w.cfg.WriteTimeout, m.store.Classify, func(from, to string) {
		m.cfg.Logger.Warn("the breaker of the database changed", "from", from, "to", to)
	})
	return w, nil
}

// job is one artist of a batch, and the event that asks for it.
type job struct {
	index   int // of the event in the batch
	id      string
	version int64
	event   event.Event
}

// handle carries out a batch: all fetches concurrently, as far as the budget permits,
// then one write.
func (w *Worker) handle(p event.Priority) func(context.Context, []event.Event) error {
	return func(ctx context.Context, all []event.Event) error {
		began := time.Now()
		failed := bus.BatchError{}
		jobs := w.jobs(all, failed)
		if len(jobs) == 0 {
			return failed.OrNil()
		}
		// The database is asked first, so that no budget is spent during its outage.
		known, err := w.known(ctx, jobs)
		if err != nil {
			w.m.metrics.failed(NoStorage, len(jobs))
			return err
		}
		results := w.fetchAll(ctx, p, jobs, known)
		var toWrite []result
		for i, r := range results {
			if r.err != nil {
				failed[jobs[i].index] = r.err
				w.m.metrics.failed(reasonOf(r.err), 1)
			}
			if r.err == nil || isOutcome(ctx, r.err) {
				toWrite = append(toWrite, r)
			}
		}
		if err := w.store(ctx, toWrite); err != nil {
			w.m.metrics.failed(NoStorage, len(toWrite))
			if fault.Of(err) == fault.Permanent { // it fits no column: the bus finds out which
				return &Failure{Reason: ParseError, err: err}
			}
			return err
		}
		w.settle(ctx, p, jobs, results)
		w.m.metrics.processed(p, time.Since(began), len(toWrite))
		return failed.OrNil()
	}
}

// isOutcome reports whether a failure is an outcome of the artist's refresh, to be
// stored, and not our own.
func isOutcome(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !errors.Is(err, context.Canceled) && fault.Of(err) != fault.Infrastructure
}

// jobs reads the events. Of several for one artist the newest counts, and completes
// the others.
func (w *Worker) jobs(all []event.Event, failed bus.BatchError) []job {
	var jobs []job
	at := map[string]int{}
	for i, e := range all {
		r, err := requestOf(e)
		if err != nil {
			failed[i] = err
			w.m.metrics.failed(ParseError, 1)
			continue
		}
		j := job{index: i, id: r.CharacterID, version: int64(e.Sequence), event: e}
		k, again := at[j.id]
		switch {
		case !again:
			at[j.id] = len(jobs)
			jobs = append(jobs, j)
		default:
			w.m.skipped()
			if j.version >= jobs[k].version {
				jobs[k] = j
			}
		}
	}
	return jobs
}

// known returns the hashes of the extracts that are in the database or the archive.
func (w *Worker) known(ctx context.Context, jobs []job) (known map[string]string, err error) {
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = j.id
	}
	err = w.guard.look(ctx, func(ctx context.Context) (err error) {
		known, err = w.hashes(ctx, ids)
		return err
	})
	return known, err
}

func (m *Mirror) hashes(ctx context.Context, ids []string) (map[string]string, error) {
	known := make(map[string]string, len(ids))
	return known, store.Each(ctx, m.store.Reader(), store.In(m.sql.Known, 1, len(ids)), store.Args(ids...), func(row *sql.Rows) error {
		var id, hash string
		err := row.Scan(&id, &hash)
		known[id] = hash
		return err
	})
}

func (w *Worker) fetchAll(ctx context.Context, p event.Priority, jobs []job, known map[string]string) []result {
	results := make([]result, len(jobs))
	var calls sync.WaitGroup
	for i, j := range jobs {
		calls.Go(func() {
			r := result{id: j.id, version: j.version, read: p == event.High}
			if r.doc, r.err = w.fetch.Fetch(ctx, p, j.id); r.err == nil && known[j.id] != r.doc.Hash {
				r.packed, r.err = pack(r.doc.Content)
			}
			results[i] = r
		})
	}
	calls.Wait()
	return results
}

// store writes results down.
func (w *Worker) store(ctx context.Context, all []result) error {
	if len(all) == 0 {
		return nil
	}
	began := time.Now()
	var n written
	err := w.guard.do(ctx, func(ctx context.Context) error {
		return w.inTx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			n, err = w.write(ctx, tx, all)
			return err
		})
	})
	w.m.metrics.wrote(time.Since(began), n, err)
	return err
}

// settleTimeout bounds the end of a batch's runs at the coalescer. A run that is not
// ended expires by itself.
const settleTimeout = 2 * time.Second

// settle ends the runs of a batch, so that the next request can begin another. A
// request that will be retried keeps its lock; buried releases the lock of a dead
// letter.
func (w *Worker) settle(ctx context.Context, p event.Priority, jobs []job, results []result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	var calls sync.WaitGroup
	for i, j := range jobs {
		if results[i].err != nil || j.version < 1 {
			continue
		}
		calls.Go(func() {
			next, again, err := w.m.coalescer.Done(ctx, j.id, coalesce.Priority(p), j.version)
			if err == nil && again {
				err = w.m.coalescer.Publish(ctx, next, func(ctx context.Context, t coalesce.Ticket) error {
					return w.m.publish(ctx, t.Key, event.Priority(t.Priority), UserRequest, t.Version)
				})
			}
			if err != nil {
				w.m.metrics.count(func(s *Stats) { s.Unsettled++ })
			}
		})
	}
	calls.Wait()
}
