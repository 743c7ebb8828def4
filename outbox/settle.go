package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/outbox/driver"
)

// round publishes the items of w that can be published now and settles the result. It fails
// only if the lease is lost or the publisher hangs.
func (s *shard) round(ctx context.Context, w *work) (err error) {
	var joined []*driver.Item
	rd := s.over
	if s.over = nil; rd == nil {
		if rd, joined, err = s.begin(ctx, w); rd == nil {
			return err
		}
	}
	if err := s.publish(ctx, rd); err != nil {
		return err // of a lost lease: nothing can be settled
	}
	w.tried = true
	if err := s.conclude(ctx, rd, joined); err != nil {
		return err
	}
	if len(rd.hung) > 0 {
		return errHung
	}
	return nil
}

// begin begins a round, unless the store fails. It also returns the items that are deferred
// behind others of their keys.
func (s *shard) begin(ctx context.Context, w *work) (rd *round, joined []*driver.Item, err error) {
	if !s.term.Valid(time.Now()) {
		// Another relay may hold the shard by now: renew the lease before publishing more.
		switch err := s.renew(ctx); {
		case errors.Is(err, driver.ErrLeaseLost):
			return nil, nil, err
		case err != nil:
			return nil, nil, s.stumble(ctx, err)
		}
	}
	rd = s.newRound(w)
	if w.full && !w.tried && !w.aside && s.ahead == nil {
		s.readAhead(ctx, w.next)
	}
	if s.outages > 0 || (s.stalled && w.tried) {
		err = s.choose(ctx, rd)
	} else if w.tried {
		err = s.extend(ctx, rd)
	}
	if err != nil {
		return nil, nil, s.stumble(ctx, err)
	}
	joined = s.follow(w)
	rd.calm = !w.tried && !rd.careful && s.aside.empty()
	rd.begin()
	return rd, joined, nil
}

// publish waits for the round, and renews the lease while it runs. It begins the next round as
// soon as its batch is read, and waits for that one too if this round was not through.
func (s *shard) publish(ctx context.Context, rd *round) error {
	ended := rd.ended
	var read <-chan struct{}
	if rd.calm && s.ahead != nil {
		read = s.ahead.done
	}
	timer := time.NewTimer(time.Until(s.term.Next()))
	defer timer.Stop()
	late := s.final.Done()
	var over <-chan time.Time
	var lost error
	for {
		select {
		case <-ended:
			if o := s.over; o != nil && !rd.through() {
				if ended == rd.ended {
					if rd.stop.Load() {
						o.stop.Store(true)
					}
					ended = o.ended
					continue
				}
				s.join(rd, o)
			}
			s.hung = append(s.hung, rd.hung...)
			return lost
		case <-read:
			read = nil
			if ctx.Err() == nil && lost == nil {
				s.overlap(ctx, rd)
			}
		case <-timer.C:
			if lost = s.renew(s.final); errors.Is(lost, driver.ErrLeaseLost) {
				s.both(rd, func(rd *round) { rd.stop.Store(true) })
				s.revoke(lost)
				continue // until the calls in flight have returned
			}
			lost = nil
			timer.Reset(time.Until(s.term.Next()))
		case <-late: // not before: a batch that is half confirmed would be published again
			s.both(rd, func(rd *round) { rd.stop.Store(true) })
			s.revoke(errShutdown)
			late, over = nil, time.After(grace)
		case <-over:
			over = nil
			s.both(rd, func(rd *round) { close(rd.abandon) })
		}
	}
}

// conclude decides about the round's failures and settles the round.
func (s *shard) conclude(ctx context.Context, rd *round, joined []*driver.Item) error {
	w, confirmed := rd.w, rd.confirmed
	end := time.Now()
	settlement := driver.Settlement{Published: confirmed}
	for _, it := range joined {
		settlement.Failures = append(settlement.Failures, driver.Failure{Item: it, State: driver.MovedAside})
	}
	seen := s.r.confirmed.Add(int64(len(confirmed)))
	tried, works := s.judge(rd, seen, &settlement)
	settlement.Move = w.prefix()

	if !w.aside && w.finished() && s.ahead == nil && s.over == nil {
		s.readAhead(ctx, w.next) // new events are read while this round is settled
	}
	if len(settlement.Published)+len(settlement.Failures) > 0 || settlement.Move != nil {
		if err := s.persist(ctx, settlement); err != nil {
			return err
		}
	}
	s.remember(rd, settlement, end)

	wasStalled := s.stalled || s.outages > 0
	switch {
	case len(confirmed) > 0 || works:
		s.stalled, s.outages, s.probing = false, 0, firstProbes
	case tried > 0 || rd.outage != nil:
		s.stalled = true
	}
	switch {
	case rd.outage != nil:
		s.outages++
		pause := s.r.pause.Delay(s.outages)
		s.resume = end.Add(pause)
		s.report.failing(publisherAway, "shard", s.id, "topic", rd.culprit.Topic, "error", rd.outage)
		s.r.cfg.Hooks.Failed(s.id, rd.culprit.Topic, 0, rd.outage)
	case s.stalled && rd.first != nil:
		it := &w.items[rd.first.item]
		s.report.failing(nothingGetsThrough, "shard", s.id, "topic", it.Topic, loggedAs(it),
			"attempts", it.Attempts, "failing", w.failingCount(), "error", rd.first.err)
	case wasStalled && !s.stalled:
		s.publisherWorks()
		s.hurry(w, end) // the publisher works again
	}
	s.tidy(w, end)
	took := end.Sub(later(rd.start, s.concluded))
	s.concluded = end
	if !w.aside && w.finished() {
		s.pace.after(len(w.items), w.full, took)
	}
	if tried > 0 || len(confirmed) > 0 {
		s.r.cfg.Hooks.Round(s.id, took, len(confirmed))
	}
	return nil
}

// persist retries the settlement until it is stored or the lease is lost: until then, only this
// process knows which events were published. After ctx is done it retries until the end of
// ShutdownTimeout.
func (s *shard) persist(ctx context.Context, settlement driver.Settlement) error {
	for attempt := 1; ; attempt++ {
		call, cancel := s.last()
		err := s.settle(call, settlement)
		cancel()
		if err == nil || errors.Is(err, driver.ErrLeaseLost) {
			return err
		}
		s.report.failing(settlementFails, "shard", s.id, "error", err)
		wait := s.r.pause.Delay(attempt)
		if backoff.Sleep(ctx, wait) != nil && backoff.Sleep(s.final, wait) != nil {
			if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
				err = errNoAnswer // a caller takes the end of its context for no failure
			}
			return &unsettledError{s.id, err}
		}
	}
}

// unsettledError ends a relay that could not store which events it had published.
type unsettledError struct {
	shard int
	err   error
}

func (e *unsettledError) Error() string {
	return fmt.Sprintf("outbox: stopped before shard %d was settled, so up to a batch will be published again: %v", e.shard, e.err)
}
func (e *unsettledError) Unwrap() error { return e.err }

// remember updates the index of deferred events after a settlement.
func (s *shard) remember(rd *round, settlement driver.Settlement, now time.Time) {
	w, changed := rd.w, false
	if w.aside {
		for _, it := range settlement.Published {
			s.aside.done(it.Key, now)
			changed = true
		}
	}
	for _, f := range settlement.Failures {
		switch {
		case f.State == driver.Held:
			continue
		case f.State == driver.Parked && w.aside:
			s.aside.done(f.Item.Key, now)
		case f.State == driver.MovedAside && w.aside:
			s.aside.failed(f.Item.Key, now.Add(f.Wait), rd.tries[f.Item])
		case f.State == driver.MovedAside:
			s.aside.add(f.Item.Key, now.Add(f.Wait), rd.tries[f.Item])
		}
		changed = true
		if f.State == driver.Parked {
			s.r.cfg.Logger.Error("outbox: parked an event that kept failing", "shard", s.id,
				"topic", f.Item.Topic, loggedAs(f.Item), "attempts", f.Attempts, "error", f.Error)
			s.r.cfg.Hooks.Parked(s.id, f.Item.Topic, f.Item.MessageID, errors.New(f.Error))
		}
	}
	if changed {
		s.aside.refresh()
	}
}

// hurry makes all retries due, except those of events that are at fault themselves.
func (s *shard) hurry(w *work, now time.Time) {
	s.aside.hurry(now)
	s.aside.refresh()
	for i := range w.lanes {
		for _, f := range w.lanes[i].failing {
			if !f.last.blamed {
				f.due = now
			}
		}
	}
	if s.cur != nil && s.cur != w {
		s.hurry(s.cur, now)
		s.cur.due = now
	}
}
