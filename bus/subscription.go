package bus

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
)

// subscription is the engine on one source. One goroutine fetches; up to Concurrency
// workers run attempts, and each takes the next one itself when it is done, so that
// nothing changes hands while there is work; one goroutine waits for the end. What
// waits for anything waits in a lane, and not in a goroutine.
type subscription struct {
	dispatcher *Dispatcher
	source     driver.Source
	ctx        context.Context // its values are for batches

	fetching context.Context    // ends with the intake
	endFetch context.CancelFunc // of fetching
	fetched  chan struct{}      // closed when nothing is fetched any more
	lost     chan struct{}      // closed when the source has ended by itself
	lostBy   error              // why; read after lost
	room     chan struct{}      // capacity 1: the window has room again, or the gate is open
	drained  chan struct{}      // closed when it was stopped and nothing is out
	over     chan struct{}      // closed: answers are waited for no longer
	done     chan struct{}      // closed when it has ended, but for workers of handlers that go on
	err      error              // of closing the source; read after done

	// Of subscriptions that hand messages out on a channel.
	out      chan *message.Message
	offering sync.WaitGroup // the worker that is about to hand one out
	waiting  sync.WaitGroup // workers that wait for an answer

	stopping   atomic.Bool // nothing more is handed out
	pausedFlag atomic.Bool

	gate *gate // of a consumer that may be held back; nil for others

	mu        sync.Mutex
	lanes     *lanes
	flying    map[*delivery]struct{} // what is out
	batched   map[*batch]struct{}    // the same, where batches are handed out
	busy      int                    // workers that have an attempt
	offered   bool                   // one of them is about to hand a message out
	secluded  bool                   // what is out is to be alone
	interrupt context.CancelFunc     // of the Fetch under way
	pause     pause
	epoch     int   // how many pauses have ended
	finished  int64 // messages that were finished, for good or as dead letters
	timer     *time.Timer
	armed     time.Time // when timer fires; zero when it does not
	closing   bool      // the source is being closed: what comes back now is not settled
}

// attempt is what a worker runs: a message or a batch.
type attempt interface {
	run()    // without the subscription's mu
	settle() // with it
}

func newSubscription(ctx context.Context, d *Dispatcher, source driver.Source) *subscription {
	s := &subscription{
		dispatcher: d, source: source, ctx: context.WithoutCancel(ctx),
		fetched: make(chan struct{}), lost: make(chan struct{}), room: make(chan struct{}, 1),
		drained: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{}),
		out: make(chan *message.Message), gate: d.gate,
		lanes: newLanes(), flying: map[*delivery]struct{}{}, batched: map[*batch]struct{}{},
	}
	s.fetching, s.endFetch = context.WithCancel(s.ctx)
	return s
}

// run lives until the subscription has ended: after the end of ctx or Close of the
// dispatcher, and when everything out has come back, or the drain timeout is over.
func (s *subscription) run(ctx context.Context) {
	s.timer = time.AfterFunc(time.Hour, s.tick)
	defer s.timer.Stop()
	go s.fetch()
	if s.gate != nil {
		s.dispatcher.workers.Go(s.watchGate)
	}
	stop, lost, closing := ctx.Done(), s.lost, s.dispatcher.closing
	var deadline <-chan time.Time
	for waiting := true; waiting; {
		select {
		case <-stop:
			stop = nil
			s.stop()
		case <-lost:
			lost = nil
			s.stop()
			if f := s.dispatcher.observe.lost; f != nil {
				f(s.lostBy)
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

// dispatch gives work to as many workers as may have it. The caller holds mu.
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
		// The handler has ended its goroutine.
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

// settled acts on what came back and returns what the worker is to do next.
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

// take takes what may be handed out now; nil when there is nothing. The caller holds mu.
func (s *subscription) take(now time.Time) attempt {
	if s.stopping.Load() || s.gate.held() || s.secluded || s.busy >= s.dispatcher.cfg.Concurrency {
		return nil
	}
	if s.dispatcher.batch.on() {
		if b := s.gather(now); b != nil && s.mayGo(b.deliveries[0]) {
			s.busy++
			s.takeBatch(b)
			return b
		}
		return nil
	}
	onChannel := s.dispatcher.handle == nil
	if onChannel && s.offered { // one at a time, or they would come in any order
		return nil
	}
	if d := s.next(now); d != nil && s.mayGo(d) {
		s.busy++
		d.probe, d.epoch, d.condemned = s.pause.on, s.epoch, s.condemned(d, now)
		d.begin(s.finished)
		s.lanes.take(d)
		if s.pause.on {
			s.probing(d)
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
func (s *subscription) arm(now time.Time) {
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
	if handle := d.sub.dispatcher.handle; handle != nil {
		handle(d)
		return
	}
	d.sub.handOut(d)
}

// handOut hands the copy of d out and waits for its answer.
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
	if s.dispatcher.handle == nil {
		defer s.waiting.Done()
	}
	if d.verdict == stillOut {
		return // its context goes on until the source is closed
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
	d.from.Back()
	s.lanes.finish(d)
}

// stop ends the intake and the handing out.
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

// checkDrained tells when a subscription that was stopped has nothing out. The caller
// holds mu.
func (s *subscription) checkDrained() {
	if len(s.flying)+len(s.batched) == 0 && !isClosed(s.drained) {
		close(s.drained)
	}
}

// end gives everything back: acknowledgements first, then the transport's
// subscription, which commits them, then what was not finished.
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
		b.cancel(ErrDrainTimeout)
		s.count(-len(b.deliveries))
	}
	s.count(-len(s.flying))
	for d := range s.flying {
		d.cancel(ErrDrainTimeout)
	}
	s.lanes.all(func(d *delivery) { d.from.Back() })
	s.setPaused(false)
	s.mu.Unlock()
	s.dispatcher.forget(s)
	close(s.done)
}

func (s *subscription) count(n int) {
	if c := s.dispatcher.observe.inFlight; c != nil {
		c.Add(int64(n))
	}
}
