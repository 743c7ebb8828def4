package outbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/lease"
	"github.com/millrace-go/millrace/outbox/driver"
)

// shard is one shard of a running relay: it takes the lease, publishes while it holds the
// lease, and otherwise stands by. All fields but term belong to the goroutine in run.
type shard struct {
	r     *Relay
	id    int
	slots chan struct{}
	drain bool
	wakes <-chan struct{}

	lease  driver.Lease
	term   *lease.Term             // of the lease
	msgs   context.Context         // of the messages being published
	lanes  []laneContext           // below msgs
	revoke context.CancelCauseFunc // ends msgs
	final  context.Context         // ends with ShutdownTimeout
	hung   []*call                 // Publish calls that have not returned
	report reporter

	mark      driver.Mark // the start of the next read
	moved     bool        // mark has moved without events since it was settled
	cur       *work       // the current batch
	ahead     *reading
	over      *round // the round of the next batch, begun while that of cur runs
	aside     asideIndex
	pace      pace
	stalled   bool          // the last round had failures and no success
	probing   int           // how many events the next careful round probes with
	outages   int           // consecutive rounds with an infrastructure failure
	misses    int           // consecutive failures of the store
	concluded time.Time     // when the last round was settled
	resume    time.Time     // the end of a pause
	rest      time.Time     // the end of a rest
	took      time.Duration // the time of the last batch
}

// A shard rests after a batch of a steady load: of at least steady events, and not full. It rests
// for twice as long as the batch took, or the one before if that took less, so that a stall is not
// prolonged. Batches become three times as large, and so cost the database and the transport a
// third. longestRest is for transports that take long.
const (
	steady      = 4
	longestRest = 20 * time.Millisecond
)

func newShard(r *Relay, id int, slots chan struct{}, drain bool) *shard {
	return &shard{r: r, id: id, slots: slots, drain: drain, term: lease.NewTerm(r.cfg.LeaseTTL, 0), pace: newPace(r.cfg), report: newReporter(r.cfg.Logger)}
}

// run returns nil when ctx is done, or when draining and the shard is empty.
func (s *shard) run(ctx context.Context) error {
	wakes, cancel := s.r.wakes.Subscribe()
	defer cancel()
	s.wakes = wakes
	return errors.Join(s.terms(ctx), s.leave())
}

// terms holds the shard or stands by, in turn.
func (s *shard) terms(ctx context.Context) error {
	for failures := 0; ; {
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		err := s.take(ctx)
		<-s.slots
		var unsettled *unsettledError
		if errors.As(err, &unsettled) {
			return err
		}
		if err == nil || ctx.Err() != nil {
			return nil
		}
		wait := s.r.cfg.Interval
		switch {
		case errors.Is(err, driver.ErrForeignDatabase):
			return err
		case errors.Is(err, driver.ErrLeaseHeld):
			failures = 0
		case errors.Is(err, errHung):
			failures = 0
		case errors.Is(err, driver.ErrLeaseLost):
			failures = 0
			s.r.cfg.Logger.Warn("outbox: lost the lease; standing by", "shard", s.id, "error", err)
		default:
			failures++
			wait = s.r.pause.Delay(failures)
			s.report.failing(leaseFails, "shard", s.id, "error", err)
		}
		s.standBack(ctx)
		if backoff.Sleep(ctx, wait) != nil {
			return nil
		}
	}
}

// take takes the lease, publishes while it is valid, and releases it.
func (s *shard) take(ctx context.Context) error {
	asked := time.Now()
	asking, done := lease.Asking(ctx)
	call, cancel := s.r.call(asking)
	held, err := s.r.store.Lease(call, s.id, s.r.cfg.Holder, s.r.cfg.LeaseTTL)
	cancel()
	done()
	if err != nil {
		return err
	}
	s.lease = held
	s.storeWorks()
	clear(s.report.lasting) // reports belong to one lease
	s.term.Extended(asked)
	// The messages outlive ctx: a shutdown lets them finish.
	s.msgs, s.revoke = context.WithCancelCause(context.WithoutCancel(ctx))
	defer s.revoke(nil)
	s.lanes = newLaneContexts(s.msgs, s.r.cfg.Lanes)
	final, finish := context.WithCancel(context.WithoutCancel(ctx))
	defer finish()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(s.r.cfg.ShutdownTimeout, finish) })()
	s.final = final
	s.mark, s.moved, s.cur, s.ahead, s.resume = nil, false, nil, nil, time.Time{}
	s.stalled, s.probing, s.outages, s.misses = false, firstProbes, 0, 0
	s.over, s.concluded = nil, time.Time{}
	s.aside = newAsideIndex(held.Aside, time.Now())
	s.r.cfg.Hooks.Lease(s.id, true)
	defer s.r.cfg.Hooks.Lease(s.id, false)
	defer s.r.hear(ctx)()

	var side sync.WaitGroup
	sideCtx, stop := context.WithCancel(ctx)
	if p, ok := s.r.store.(driver.Pruner); ok && s.r.cfg.Retention >= 0 && !s.drain {
		side.Go(func() { s.prune(sideCtx, p) })
	}
	err = s.hold(ctx)
	s.reap(ctx)
	stop()
	side.Wait()
	s.ahead.forget()

	call, cancel = s.last()
	defer cancel()
	if e := s.r.store.Release(call, s.lease); e != nil {
		s.r.cfg.Logger.Warn("outbox: giving the lease up failed; it runs out by itself", "shard", s.id, "error", e)
	}
	return err
}

// hold publishes until ctx is done, the shard is drained (nil), the lease is lost, or the
// publisher hangs.
func (s *shard) hold(ctx context.Context) error {
	for ctx.Err() == nil || s.over != nil {
		now := time.Now()
		if s.resume.After(now) {
			if err := s.wait(ctx, s.resume, nil); err != nil {
				return err
			}
			continue
		}
		if keys := s.aside.dueKeys(now, s.asideKeys()); len(keys) > 0 {
			if err := s.tryAside(ctx, keys); err != nil {
				return err
			}
			continue
		}
		if s.cur == nil {
			if s.rest.After(now) {
				if err := s.wait(ctx, s.aside.until(s.rest), nil); err != nil {
					return err
				}
				continue
			}
			idle, err := s.next(ctx)
			if err != nil {
				return err
			}
			if s.cur == nil {
				if idle && s.drain && s.aside.empty() {
					return nil
				}
				if err := s.wait(ctx, s.aside.until(now.Add(s.r.cfg.Interval)), s.wakes); err != nil {
					return err
				}
				continue
			}
		}
		if s.cur.due.After(now) {
			if err := s.wait(ctx, s.aside.until(s.cur.due), nil); err != nil {
				return err
			}
			continue
		}
		if err := s.round(ctx, s.cur); err != nil {
			return err
		}
		if s.cur.finished() {
			took := time.Since(now)
			if !s.cur.full && len(s.cur.items) >= steady && !s.drain {
				s.rest = now.Add(took + min(2*min(took, s.took), longestRest))
			}
			s.mark, s.cur, s.took = s.cur.next, nil, took
		}
	}
	return nil
}

// stumble waits after a failed read of the store. The state in memory stays, so that no event
// is published again because of the failure; but if the store does not accept the mark any
// more, the lease ends.
func (s *shard) stumble(ctx context.Context, err error) error {
	if errors.Is(err, driver.ErrLeaseLost) || errors.Is(err, driver.ErrForeignDatabase) {
		return err
	}
	if ctx.Err() != nil {
		return nil
	}
	var less *lessError
	if errors.As(err, &less) {
		return nil
	}
	s.misses++
	wait := s.r.pause.Delay(s.misses)
	s.report.failing(storeFails, "shard", s.id, "error", err)
	s.resume = time.Now().Add(wait)
	return nil
}

// wait returns at the given time, at a wake-up, or when ctx is done. While it waits, it renews
// the lease. It fails if the lease is lost.
func (s *shard) wait(ctx context.Context, until time.Time, wakes <-chan struct{}) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(time.Until(earlier(until, s.term.Next())))
		select {
		case <-ctx.Done():
			return nil
		case <-wakes:
			return nil
		case <-timer.C:
		}
		now := time.Now()
		if !s.term.Next().After(now) {
			if err := s.renew(ctx); errors.Is(err, driver.ErrLeaseLost) {
				return err
			}
		}
		if !until.After(now) {
			return nil
		}
	}
}

// renew extends the lease. Only ErrLeaseLost means that the lease is over; after another error
// the lease may still be valid.
func (s *shard) renew(ctx context.Context) error {
	settlement := driver.Settlement{}
	if s.moved && s.cur == nil {
		settlement.Move = s.mark
	}
	err := s.settle(ctx, settlement)
	if err != nil && !errors.Is(err, driver.ErrLeaseLost) {
		s.term.Failed(time.Now())
		if ctx.Err() == nil {
			s.report.failing(renewalFails, "shard", s.id, "error", err)
		}
	}
	return err
}

// last bounds a call of the store that a shutdown does not cut: by the end of ShutdownTimeout, or by
// a second if the call begins behind that.
func (s *shard) last() (context.Context, context.CancelFunc) {
	if s.final.Err() != nil {
		return context.WithTimeout(context.WithoutCancel(s.final), grace)
	}
	return s.r.call(s.final)
}

func (s *shard) settle(ctx context.Context, settlement driver.Settlement) error {
	settlement.TTL = s.r.cfg.LeaseTTL
	asked := time.Now()
	call, cancel := s.r.call(ctx)
	defer cancel()
	if err := s.r.store.Settle(call, s.lease, settlement); err != nil {
		return err
	}
	s.storeWorks()
	s.term.Extended(asked)
	if settlement.Move != nil {
		s.moved = false
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
