package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
)

// jobLook is how often a process looks for due work. Work that was made since then and is
// due sooner waits until the next look.
const jobLook = time.Second

// Job is a job that one process at a time does, while it has the job's lease. It is
// not safe for concurrent use.
type Job struct {
	store        *Store
	name, holder string
	ttl          time.Duration
	log          *slog.Logger
	lease        *Lease // nil while it is not this process's
}

// NewJob makes a Job for a holder, the name of this process. Leases last for ttl.
func (s *Store) NewJob(name, holder string, ttl time.Duration, log *slog.Logger) *Job {
	return &Job{store: s, name: name, holder: holder, ttl: ttl, log: log}
}

// Take gets the lease, or fails with ErrLeaseHeld. If this process has the lease
// already, the job's own transactions renew it.
func (j *Job) Take(ctx context.Context) (Lease, error) {
	if j.lease == nil {
		l, err := j.store.TakeLease(ctx, j.name, j.holder, j.ttl)
		if err != nil {
			return Lease{}, err
		}
		j.lease = &l
	}
	return *j.lease, nil
}

// Lost drops a lease that went to another process, or is of unknown state: Take takes
// it again.
func (j *Job) Lost() { j.lease = nil }

// GiveBack releases the lease, also after ctx has ended, so that another process need
// not wait for it to expire.
func (j *Job) GiveBack(ctx context.Context) {
	if j.lease == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := j.lease.Drop(ctx); err != nil {
		j.log.Warn("a lease was not given back; it runs out by itself", "lease", j.name, "error", err)
	}
	j.lease = nil
}

// Work is work that falls due.
type Work struct {
	// Next is a query for the milliseconds until work is due; NULL when there is none.
	Next string
	// Args are the query's.
	Args []any
	// Do does some of the due work, and reports whether it did any: if not, others keep
	// the work from being done now, and it is looked at again later. It may fail with
	// ErrLeaseLost, and then has done nothing.
	Do func(ctx context.Context, lease Lease) (did bool, err error)
}

// Run does due work until ctx ends. Failed work is tried again. It returns nil.
func (j *Job) Run(ctx context.Context, w Work) error {
	defer j.GiveBack(ctx)
	signal.Signal(nil).Repeat(ctx, func(ctx context.Context) time.Duration {
		next, err := j.do(ctx, w)
		if err != nil && ctx.Err() == nil {
			j.log.Warn("a job could not be done, will try again", "job", j.name, "error", err)
			next = jobLook
		}
		return next
	})
	return nil
}

// do does all due work and returns when to look again.
func (j *Job) do(ctx context.Context, w Work) (time.Duration, error) {
	for {
		wait, err := j.untilDue(ctx, w)
		if err != nil || wait > 0 {
			return wait, err
		}
		lease, err := j.Take(ctx)
		if errors.Is(err, ErrLeaseHeld) {
			return jobLook, nil
		}
		if err != nil {
			return 0, err
		}
		did, err := w.Do(ctx, lease)
		switch {
		case errors.Is(err, ErrLeaseLost):
			j.Lost()
		case err != nil:
			j.Lost()
			return 0, err
		case !did:
			return jobLook, nil
		}
	}
}

// untilDue returns the time until work is due, capped at jobLook; 0 when work is due.
func (j *Job) untilDue(ctx context.Context, w Work) (time.Duration, error) {
	var ms sql.NullInt64
	if err := j.store.Reader().QueryRowContext(ctx, w.Next, w.Args...).Scan(&ms); err != nil {
		return 0, fmt.Errorf("store: look when %s is due: %w", j.name, err)
	}
	if !ms.Valid {
		return jobLook, nil
	}
	return min(max(0, time.Duration(ms.Int64)*time.Millisecond), jobLook), nil
}
