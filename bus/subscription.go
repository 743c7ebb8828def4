package bus

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
)

// subscription is one Subscribe of a Dispatcher. One goroutine, run, owns all of
// its state; every message that is out has a second one that watches it. Where
// messages are handed out in batches, see batches.go, nobody has to.
type subscription struct {
	dispatcher   *Dispatcher
	source       message.Subscriber
	cancelSource context.CancelFunc

	out      chan *message.Message
	outcomes chan outcome
	batches  chan *batch   // as outcomes, where batches are handed out
	gone     chan struct{} // closed when watchers may stop waiting
	done     chan struct{} // closed when everything of the subscription has ended
	err      error         // of closing the source; read after done
	watchers sync.WaitGroup

	stopping   atomic.Bool // nothing more is handed out
	ending     atomic.Bool // the source is being closed
	pausedFlag atomic.Bool

	gate *gate // of a consumer that may be held back; nil for others

	// Owned by run.
	lanes   *lanes
	flying  map[*delivery]struct{} // what is out
	batched map[*batch]struct{}    // the same, where batches are handed out
	pause   pause
	epoch   int // how many pauses have ended
	// finished is how many messages were finished, for good or as dead letters.
	finished int64
}

func newSubscription(d *Dispatcher, source message.Subscriber, cancel context.CancelFunc) *subscription {
	return &subscription{
		dispatcher: d, source: source, cancelSource: cancel,
		out: make(chan *message.Message), outcomes: make(chan outcome), batches: make(chan *batch),
		gone: make(chan struct{}), done: make(chan struct{}), gate: d.gate,
		lanes: newLanes(), flying: map[*delivery]struct{}{}, batched: map[*batch]struct{}{},
	}
}

func (s *subscription) run(ctx context.Context, in <-chan *message.Message) {
	s.dispatch(ctx, in)
	s.end(in)
}

// dispatch is the loop. It returns when the subscription was stopped and
// everything out has come back, or the drain timeout is over.
func (s *subscription) dispatch(ctx context.Context, in <-chan *message.Message) {
	cfg := s.dispatcher.cfg
	stop, closing := ctx.Done(), s.dispatcher.closing
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var deadline <-chan time.Time

	for !s.stopping.Load() || len(s.flying)+len(s.batched) > 0 {
		var (
			out    chan<- *message.Message
			copied *message.Message
			intake <-chan *message.Message
			next   *delivery
			full   *batch
		)
		now := time.Now()
		changed := s.gate.changed() // before asking whether it is held
		s.lanes.wake(now)
		if s.dispatcher.batch.on() {
			if full = s.gather(now); full != nil {
				out, copied = s.out, full.carrier(ctx)
			}
		} else if next = s.next(now); next != nil {
			// Before the send: afterwards the delivery belongs to its handler.
			next.probe, next.epoch, next.condemned = s.pause.on, s.epoch, s.condemned(next, now)
			out, copied = s.out, next.offer()
		}
		if !s.stopping.Load() && s.lanes.held < cfg.Window && !s.gate.held() {
			intake = in
		}
		s.arm(timer, now)

		select {
		case m, ok := <-intake:
			if !ok {
				s.stop()
				if lost := s.dispatcher.observe.lost; lost != nil {
					lost()
				}
				continue
			}
			s.lanes.add(event.Key(m), &delivery{source: m, sub: s})
		case out <- copied:
			if full != nil {
				s.handOutBatch(full)
			} else {
				s.handOut(next)
			}
		case o := <-s.outcomes:
			s.settle(o)
		case b := <-s.batches:
			s.settleBatch(b)
		case <-changed:
			// Held back from now on, or no longer; the next round sees to it.
		case <-timer.C:
			// A parked lane or a probe is due; the next round sees to it.
		case <-stop:
			stop = nil
			s.stop()
		case <-closing:
			closing = nil
			s.stop()
			if cfg.DrainTimeout == 0 {
				return
			}
			t := time.NewTimer(cfg.DrainTimeout)
			defer t.Stop()
			deadline = t.C
		case <-deadline:
			return
		}
	}
}

// next returns the message that may be handed out now, or nil.
func (s *subscription) next(now time.Time) *delivery {
	if s.stopping.Load() || s.gate.held() || len(s.flying) >= s.dispatcher.cfg.Concurrency {
		return nil
	}
	for {
		var d *delivery
		switch {
		case !s.pause.on:
			d = s.lanes.next()
		default:
			d = s.nextProbe(now)
		}
		if d == nil || !d.revoked() {
			return d
		}
		// Another instance has it, or it will be delivered to us anew.
		s.lanes.take(d)
		s.drop(d)
	}
}

// arm sets the timer to the next moment at which something becomes due.
func (s *subscription) arm(timer *time.Timer, now time.Time) {
	due, ok := s.lanes.nextDue()
	if s.pause.on && s.pause.probe == nil && s.pause.until.After(now) && (!ok || s.pause.until.Before(due)) {
		due, ok = s.pause.until, true
	}
	if s.dispatcher.batch.on() && !s.pause.on && len(s.lanes.ready) > 0 {
		// Later than now, or the batch would be out or wait for something else.
		if until := s.fillUntil(); until.After(now) && (!ok || until.Before(due)) {
			due, ok = until, true
		}
	}
	if !ok || s.stopping.Load() {
		timer.Stop()
		return
	}
	timer.Reset(due.Sub(now))
}

// handOut notes that the copy of d was taken.
func (s *subscription) handOut(d *delivery) {
	s.lanes.take(d)
	if s.pause.on {
		s.probing(d)
	}
	s.flying[d] = struct{}{}
	s.count(1)
	s.watchers.Go(func() { d.watch(s.outcomes, s.gone) })
}

// settle acts on what came back.
func (s *subscription) settle(o outcome) {
	d := o.delivery
	delete(s.flying, d)
	s.count(-1)
	d.copy = nil
	probe := s.pause.probe == d
	if probe {
		s.pause.probe = nil
	}
	another := !d.blamed
	d.blamed = !o.acked && d.verdict == pauseAll
	switch {
	case o.acked:
		d.source.Ack()
		s.lanes.finish(d)
		s.finished++
	case s.stopping.Load():
		return // stays in its lane; end hands it back
	case d.revoked():
		s.drop(d)
		if probe {
			return // says nothing about the pause; the next message is the probe
		}
	case s.spare(d):
		s.lanes.park(d, time.Now().Add(d.delay))
	case d.verdict == pauseAll && !s.pause.on && d.epoch != s.epoch:
		// It began before the last pause ended, so its failure is old news.
		s.lanes.again(d)
	case d.verdict == pauseAll:
		s.lanes.wait(d)
		s.paused(d, probe)
		return
	case d.verdict == afterPause && s.pause.on:
		s.lanes.wait(d)
	case d.verdict == afterPause:
		s.lanes.again(d)
	case d.verdict == retryLater:
		s.lanes.park(d, time.Now().Add(d.delay))
	default:
		d.nacks++
		s.lanes.park(d, time.Now().Add(s.dispatcher.cfg.Redelivery.Delay(d.nacks)))
	}
	if probe {
		s.resume(another)
	}
}

// drop gives up a message of a busy lane that the transport took back.
func (s *subscription) drop(d *delivery) {
	d.source.Nack()
	s.lanes.finish(d)
}

// stop ends the intake and the handing out.
func (s *subscription) stop() {
	if !s.stopping.Swap(true) && !s.dispatcher.observe.closeLast {
		close(s.out)
	}
}

// end gives everything back: acknowledgements first, then the transport's
// subscription, which commits them, then what was not finished.
func (s *subscription) end(in <-chan *message.Message) {
	for d := range s.flying {
		if d.answered() {
			d.source.Ack()
			delete(s.flying, d)
			s.count(-1)
			s.lanes.finish(d)
		}
	}
	for b := range s.batched {
		if isClosed(b.answered) {
			s.settleBatch(b)
		}
	}
	s.ending.Store(true)
	// A source may be blocked on handing us its next message.
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for m := range in {
			m.Nack()
		}
	}()
	if s.dispatcher.shared == nil {
		if err := s.source.Close(); err != nil {
			s.err = fmt.Errorf("bus: close the subscriber: %w", err)
		}
	}
	s.cancelSource()
	<-drained

	for b := range s.batched {
		b.cancel(ErrDrainTimeout)
		s.count(-len(b.deliveries))
	}
	s.lanes.all(func(d *delivery) {
		if d.cancel != nil {
			d.cancel(ErrDrainTimeout)
		}
		d.source.Nack()
	})
	close(s.gone)
	s.watchers.Wait()
	s.count(-len(s.flying))
	s.setPaused(false)
	s.dispatcher.forget(s)
	if s.dispatcher.observe.closeLast {
		close(s.out)
	}
	close(s.done)
}

func (s *subscription) count(n int) {
	if c := s.dispatcher.observe.inFlight; c != nil {
		c.Add(int64(n))
	}
}
