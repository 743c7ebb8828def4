package amqpbus

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
)

// session is one consumer on one channel. Its goroutine, run, receives messages and sends
// acknowledgements to the broker; Fetch and the deliveries use it concurrently.
type session struct {
	lane       *lane
	channel    *amqp.Channel
	deliveries <-chan amqp.Delivery
	closed     <-chan *amqp.Error

	active  atomic.Bool     // it has received messages
	ctx     context.Context // of its deliveries: ends when the session is lost
	revoke  context.CancelCauseFunc
	changed kit.Signal  // run has something to do
	due     *time.Timer // of run: when to send acknowledgements to the broker
	second  bool        // of run: a second consumer is there, see settled

	mu        sync.Mutex
	flights   []*flight // taken and not acknowledged, or not all before them, in order
	next      int       // index in flights of the first that was never handed over
	again     []*flight // returned by the engine, in order
	out       int       // handed over and not settled
	left      int       // of flights, not acknowledged
	fresh     []*flight // acknowledged and not yet sent to the broker
	news      int       // acknowledgements since the last were sent
	round     int       // how often they were sent
	gathering bool      // due is running
	paused    bool      // nothing is handed over: the queue is to be released
	kept      time.Time // when that was given up, because messages in flight did not end
	over      bool      // nothing is handed over or settled any more
}

// flight is a message that the broker has given us; it implements [busdriver.Delivery].
type flight struct {
	session  *session
	delivery amqp.Delivery
	message  busdriver.Message // set when it is handed over

	// Guarded by the session's mu.
	out   bool // handed over and not settled
	acked bool
	round int  // when it was acknowledged
	told  bool // the broker knows
}

func newSession(l *lane, ch *amqp.Channel, deliveries <-chan amqp.Delivery, closed <-chan *amqp.Error) *session {
	s := &session{
		lane: l, channel: ch, deliveries: deliveries, closed: closed,
		changed: kit.NewSignal(), due: time.NewTimer(tellEvery),
	}
	s.due.Stop()
	s.ctx, s.revoke = context.WithCancelCause(l.source.base)
	l.source.window.Join(s)
	return s
}

const (
	// yieldChecks is for how many checks of the shares (Config.Rebalance) a session waits for
	// messages in flight before it keeps its queue: 30 s by default.
	yieldChecks = 10
	// keepChecks is for how many of them it then is not asked again: 5 minutes by default.
	keepChecks = 100
)

// run receives messages. It returns nil when the session was ended here, and an error when
// the broker or the network ended it. Either way the broker redelivers unacknowledged
// messages to a consumer.
func (s *session) run() error {
	defer s.end()
	var yielding <-chan time.Time
	for {
		select {
		case d, ok := <-s.deliveries:
			if !ok {
				return s.lost(s.reason())
			}
			s.take(d)
		case <-s.changed:
			if s.idle() {
				// No message of ours is being handled, so the next consumer starts with the
				// oldest message that is not done.
				return s.giveBack()
			}
			if err := s.work(); err != nil {
				return s.lost(err)
			}
		case <-s.due.C:
			if err := s.tell(false); err != nil {
				return s.lost(err)
			}
		case <-s.lane.source.life.Done():
			return s.giveBack()
		case <-s.lane.yield:
			s.pause(true)
			yielding = time.After(yieldChecks * s.lane.source.driver.cfg.Rebalance)
		case <-yielding:
			s.pause(false)
			yielding = nil
		}
	}
}

// lost ends the contexts of messages in flight, which are redelivered.
func (s *session) lost(err error) error {
	s.stop()
	s.revoke(busdriver.ErrRevoked)
	return err
}

// stop ends handing over and settling, and returns how many messages are not acknowledged.
func (s *session) stop() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return s.left
}

// kick makes Fetch look again.
func (s *session) kick() { s.lane.source.ready.Send() }

// pause stops handing over, or resumes it and keeps the queue.
func (s *session) pause(on bool) {
	s.mu.Lock()
	s.paused = on
	if !on {
		s.kept = time.Now()
	}
	s.mu.Unlock()
	s.changed.Send()
	s.lane.source.ready.Send()
}

// yields reports whether the queue is to be released, and whether it can be asked for.
func (s *session) yields() (now, can bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused, time.Since(s.kept) > keepChecks*s.lane.source.driver.cfg.Rebalance
}

// idle reports whether the queue is to be released and no message is in flight.
func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused && s.out == 0
}

// take notes a delivery.
func (s *session) take(d amqp.Delivery) {
	s.active.Store(true)
	s.mu.Lock()
	s.flights = append(s.flights, &flight{session: s, delivery: d})
	s.left++
	s.mu.Unlock()
	s.lane.source.ready.Send()
}

// hand hands over messages up to the window's room: returned messages come before new ones.
func (s *session) hand(all []busdriver.Delivery, most int) []busdriver.Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused || s.over {
		return all
	}
	give := func(f *flight) {
		f.out, f.message = true, messageOf(f.delivery)
		s.out++
		all = append(all, f)
	}
	n := min(len(s.again), most-len(all))
	for _, f := range s.again[:n] {
		give(f)
	}
	s.again = slices.Delete(s.again, 0, n)
	if n = min(len(s.flights)-s.next, most-len(all)); n > 0 {
		n = s.lane.source.window.Take(s, n)
	}
	for range n {
		give(s.flights[s.next])
		s.next++
	}
	return all
}

// Message is that of [busdriver.Delivery].
func (f *flight) Message() busdriver.Message { return f.message }

// Context is that of [busdriver.Delivery].
func (f *flight) Context() context.Context { return f.session.ctx }

// Done is that of [busdriver.Delivery].
func (f *flight) Done() { f.session.settle(f, true) }

// Back is that of [busdriver.Delivery].
func (f *flight) Back() { f.session.settle(f, false) }

// end frees the window's places of messages in flight.
func (s *session) end() {
	s.stop()
	s.due.Stop()
	s.lane.source.window.Leave(s)
	if !s.channel.IsClosed() {
		s.channel.Close() //nolint:errcheck // what is wrong with it was said
	}
}

// reason returns why the broker or the network ended the channel.
func (s *session) reason() error {
	select {
	case err := <-s.closed:
		if err != nil {
			return err
		}
	default:
	}
	return errLost
}
