package bus

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
)

// subscription runs the engine on one source. One goroutine fetches. Up to Concurrency workers
// run attempts, and each takes its next attempt itself, so there is no handover while there is
// work. One goroutine waits for the end. A waiting message is held in a lane, without a
// goroutine.
type subscription struct {
	dispatcher *dispatcher
	source     driver.Source
	ctx        context.Context // its values are for batches

	fetching context.Context    // ends with the intake
	endFetch context.CancelFunc // of fetching
	fetched  chan struct{}      // closed when nothing is fetched any more
	lostBy   error              // why the source has ended by itself; read after fetched
	room     chan struct{}      // capacity 1: the window has room again, or the gate is open
	drained  chan struct{}      // closed when it is stopped and no message is out
	over     chan struct{}      // closed: wait for no more answers
	done     chan struct{}      // closed when it has ended, except workers of handlers still at work
	err      error              // of closing the source; read after done

	// For subscriptions that hand messages out on a channel.
	out      chan *message.Message
	offering sync.WaitGroup // the worker that is about to hand a message out
	waiting  sync.WaitGroup // workers that wait for an answer

	stopping atomic.Bool // no more messages are handed out

	gate *gate // of a consumer that may be held back; nil for others

	mu        sync.Mutex
	lanes     *lanes
	flying    map[*delivery]struct{} // the messages that are out
	batched   map[*batch]struct{}    // the same, where batches are handed out
	busy      int                    // workers that have an attempt
	offered   bool                   // a worker is about to hand a message out
	secluded  bool                   // the message that is out has to be alone
	interrupt context.CancelFunc     // of the Fetch under way
	pause     pause
	epoch     int   // how many pauses have ended
	finished  int64 // messages that were finished, for good or as dead letters
	timer     *time.Timer
	armed     time.Time // when timer fires; zero when it does not
	closing   bool      // the source is being closed: results from now on are not settled
}

// attempt is the work of a worker: a message or a batch.
type attempt interface {
	run()    // without the subscription's mu
	settle() // with it
}

func newSubscription(ctx context.Context, d *dispatcher, source driver.Source) *subscription {
	s := &subscription{
		dispatcher: d, source: source, ctx: context.WithoutCancel(ctx),
		fetched: make(chan struct{}), room: make(chan struct{}, 1),
		drained: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{}),
		out: make(chan *message.Message), gate: d.consumer.gate,
		lanes: newLanes(), flying: map[*delivery]struct{}{}, batched: map[*batch]struct{}{},
	}
	s.fetching, s.endFetch = context.WithCancel(s.ctx)
	return s
}

// run returns when the subscription has ended: after the end of ctx or Close of the dispatcher,
// and when no message is out, or the drain timeout is over.
func (s *subscription) run(ctx context.Context) {
	s.timer = time.AfterFunc(time.Hour, s.tick)
	defer s.timer.Stop()
	go s.fetch()
	if s.gate != nil {
		s.dispatcher.workers.Go(s.watchGate)
	}
	stop, fetched, closing := ctx.Done(), s.fetched, s.dispatcher.closing.Done()
	var deadline <-chan time.Time
	for waiting := true; waiting; {
		select {
		case <-stop:
			stop = nil
			s.stop()
		case <-fetched:
			fetched = nil
			if s.lostBy != nil { // it was not stopped
				s.stop()
				s.dispatcher.consumer.sourceEnded(s.lostBy)
			}
		case <-closing:
			closing = nil
			s.stop()
			timeout := s.dispatcher.cfg.DrainTimeout
			if timeout == 0 {
				waiting = false
				break
			}
			t := time.NewTimer(timeout)
			defer t.Stop()
			deadline = t.C
		case <-deadline:
			waiting = false
		case <-s.drained:
			waiting = false
		}
	}
	s.end()
}

// tick is called when a parked lane, a probe or a batch is due.
func (s *subscription) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = time.Time{}
	s.dispatch()
}

// dispatch starts workers while there is work and room for them. The caller holds mu.
func (s *subscription) dispatch() {
	now := time.Now()
	s.lanes.wake(now)
	for a := s.take(now); a != nil; a = s.take(now) {
		s.dispatcher.workers.Go(func() { s.work(a) })
	}
	if s.lanes.held < s.dispatcher.cfg.Window {
		s.makeRoom()
	}
	s.arm(now)
}

// work runs attempts until there is none.
func (s *subscription) work(a attempt) {
	returned := false
	defer func() {
		if returned {
			return
		}
		// The handler ended its goroutine.
		if next := s.settled(a); next != nil {
			s.dispatcher.workers.Go(func() { s.work(next) })
		}
	}()
	for a != nil {
		a.run()
		a = s.settled(a)
	}
	returned = true
}

// settled settles an attempt and returns the worker's next one.
func (s *subscription) settled(a attempt) (next attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.secluded = false
	if s.closing {
		return nil
	}
	a.settle()
	now := time.Now()
	s.lanes.wake(now)
	next = s.take(now)
	s.dispatch()
	if s.stopping.Load() {
		s.checkDrained()
	}
	return next
}

// take takes the next attempt, or returns nil when there is none. The caller holds mu.
func (s *subscription) take(now time.Time) attempt {
	if s.stopping.Load() || s.gate.held() || s.secluded || s.busy >= s.dispatcher.cfg.Concurrency {
		return nil
	}
	if s.dispatcher.consumer.batch.on() {
		if b := s.gather(now); b != nil && s.mayGo(b.deliveries[0]) {
			s.busy++
			s.takeBatch(b)
			return b
		}
		return nil
	}
	onChannel := s.dispatcher.consumer.onChannel()
	if onChannel && s.offered { // one at a time, to keep the order
		return nil
	}
	if d := s.next(now); d != nil && s.mayGo(d) {
		s.busy++
		d.probe, d.epoch, d.condemned = s.pause.on, s.epoch, s.condemned(d, now)
		d.begin(s.finished)
		s.lanes.take(d)
		if s.pause.on {
			s.pause.probe = d
		}
		s.flying[d] = struct{}{}
		s.count(1)
		if onChannel {
			s.offered = true
			s.offering.Add(1)
			s.waiting.Add(1)
		}
		return d
	}
	return nil
}

// next returns the message that may be handed out now, or nil.
func (s *subscription) next(now time.Time) *delivery {
	for {
		d := s.lanes.next()
		if s.pause.on {
			d = s.nextProbe(now)
		}
		if d == nil || !d.revoked() {
			return d
		}
		// Another instance has it, or it will be redelivered to this one.
		s.lanes.take(d)
		s.drop(d)
	}
}

// arm sets the timer to the next due time.
func (s *subscription) arm(now time.Time) {
	due, ok := s.lanes.nextDue()
	if s.pause.on && s.pause.probe == nil && s.pause.until.After(now) && (!ok || s.pause.until.Before(due)) {
		due, ok = s.pause.until, true
	}
	if s.dispatcher.consumer.batch.on() && !s.pause.on && len(s.lanes.ready) > 0 {
		// Only a time after now: otherwise the batch is out or waits for something else.
		if until := s.fillUntil(); until.After(now) && (!ok || until.Before(due)) {
			due, ok = until, true
		}
	}
	switch {
	case !ok || s.stopping.Load():
		if !s.armed.IsZero() {
			s.armed = time.Time{}
			s.timer.Stop()
		}
	case !due.Equal(s.armed):
		s.armed = due
		s.timer.Reset(due.Sub(now))
	}
}

// run runs the consumer's handler, or hands the message out on the channel.
func (d *delivery) run() {
	if c := d.sub.dispatcher.consumer; !c.onChannel() {
		c.run(d)
		return
	}
	d.sub.handOut(d)
}

// handOut hands out the copy of d and waits for its answer.
func (s *subscription) handOut(d *delivery) {
	m := d.offer()
	taken := false
	select {
	case s.out <- m:
		taken = true
	case <-m.Context().Done():
	case <-s.fetching.Done():
	}
	s.offering.Done()
	s.mu.Lock()
	s.offered = false
	if taken {
		s.dispatch() // the next one
	}
	s.mu.Unlock()
	if d.verdict = handBack; !taken {
		return
	}
	select {
	case <-m.Acked():
		d.verdict = done
	case <-m.Nacked():
		d.verdict = redeliver
	case <-s.over:
		if d.verdict = stillOut; isClosed(m.Acked()) {
			d.verdict = done
		}
	}
}

// settle acts on the verdict about d.
func (d *delivery) settle() {
	s := d.sub
	if s.dispatcher.consumer.onChannel() {
		defer s.waiting.Done()
	}
	if d.verdict == stillOut {
		return // its context lives until the source is closed
	}
	probe := s.pause.probe == d
	if probe {
		s.pause.probe = nil
	}
	delete(s.flying, d)
	s.count(-1)
	d.cancel(nil)
	another := !d.blamed
	d.blamed = d.verdict == pauseAll
	switch {
	case d.verdict == done:
		d.from.Done()
		s.lanes.finish(d)
		s.finished++
	case s.stopping.Load():
		return // it stays in its lane; end hands it back
	case d.revoked():
		s.drop(d)
		if probe {
			return // no result for the pause; the next message is the probe
		}
	default:
		s.spare(d)
		// The failure of an attempt that began before the last pause ended is outdated.
		down := d.verdict == pauseAll && (s.pause.on || d.epoch == s.epoch)
		s.postpone(d, down || s.pause.on)
		if down {
			s.paused(d, probe, another)
			return
		}
	}
	if probe {
		s.resume(d, another)
	}
}

// drop hands back and removes a message of a busy lane that the transport took back.
func (s *subscription) drop(d *delivery) {
	d.from.Back()
	s.lanes.finish(d)
}

// stop ends fetching and handing out.
func (s *subscription) stop() {
	s.mu.Lock()
	first := !s.stopping.Swap(true)
	if first {
		s.arm(time.Now())
		s.checkDrained()
	}
	s.mu.Unlock()
	if first {
		s.endFetch()
		s.offering.Wait()
		close(s.out)
	}
}

// checkDrained closes drained when no message of a stopped subscription is out. The caller holds
// mu.
func (s *subscription) checkDrained() {
	if len(s.flying)+len(s.batched) == 0 && !isClosed(s.drained) {
		close(s.drained)
	}
}

// end settles acknowledgements first, then closes the transport's subscription, which commits
// them, and then hands back unfinished messages.
func (s *subscription) end() {
	<-s.fetched
	close(s.over)
	s.waiting.Wait() // for acknowledgements that were given
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.err = s.source.Close()

	s.mu.Lock()
	for b := range s.batched {
		b.cancel(errDrainTimeout)
		s.count(-len(b.deliveries))
	}
	s.count(-len(s.flying))
	for d := range s.flying {
		d.cancel(errDrainTimeout)
	}
	s.lanes.all(func(d *delivery) { d.from.Back() })
	s.dispatcher.consumer.paused.Store(false)
	s.mu.Unlock()
	s.dispatcher.forget(s)
	close(s.done)
}

func (s *subscription) count(n int) { s.dispatcher.consumer.inFlight.Add(int64(n)) }
