package amqpbus

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"
)

// session is one consumer on one channel. One goroutine, run, owns its state;
// every message that is out has a second one that waits for the answer.
type session struct {
	lane       *lane
	channel    *amqp.Channel
	deliveries <-chan amqp.Delivery
	closed     <-chan *amqp.Error

	base     context.Context
	cancel   context.CancelFunc
	answers  chan answer
	gone     chan struct{}
	watchers sync.WaitGroup

	flights  []*flight // taken and not acknowledged, or not all before them, in order
	next     int       // index in flights of the first that was never handed out
	again    []*flight // nacked, in order
	out      int       // handed out and not answered
	unacked  int       // handed out and not acknowledged
	reserved bool      // a place in the window is taken for the next message
	left     int       // of flights, not acknowledged

	fresh     []*flight // acknowledged and not yet told to the broker
	round     int       // how often it was told
	gathering bool      // due will come
	due       *time.Timer
}

// flight is a message that the broker has given us.
type flight struct {
	delivery amqp.Delivery
	message  *message.Message
	cancel   context.CancelFunc
	isOut    bool
	acked    bool
	round    int  // when it was acknowledged
	told     bool // the broker knows
}

type answer struct {
	flight *flight
	acked  bool
}

func newSession(l *lane, ch *amqp.Channel, deliveries <-chan amqp.Delivery, closed <-chan *amqp.Error) *session {
	s := &session{
		lane: l, channel: ch, deliveries: deliveries, closed: closed,
		answers: make(chan answer, l.sub.prefetch), gone: make(chan struct{}),
		due: time.NewTimer(tellEvery),
	}
	s.due.Stop()
	s.base, s.cancel = context.WithCancel(l.sub.base)
	return s
}

// yieldTimeout is how long a lane waits for what is out before it gives its
// queue to another instance after all.
const yieldTimeout = 30 * time.Second

// run hands out what comes. It returns nil when the session was ended here, and
// an error when the broker or the network did. Either way the broker delivers
// again, to somebody, what was not acknowledged.
func (s *session) run(ctx context.Context) error {
	defer s.end()
	stop, closing, yield := ctx.Done(), s.lane.sub.subscriber.closing, s.lane.yield
	var yielding <-chan time.Time
	stopping := false
	for {
		handing := !stopping && yielding == nil
		if !handing {
			s.unreserve()
			if s.out == 0 {
				// Nothing of ours is being worked on, so whoever consumes next
				// starts with the oldest that was not.
				return s.giveBack()
			}
		}
		var (
			window chan<- struct{}
			out    chan<- *message.Message
			m      *message.Message
		)
		if f := s.candidate(); handing && f != nil {
			switch {
			case len(s.again) > 0 || s.reserved:
				s.load(f)
				out, m = s.lane.sub.out, f.message
			case s.unacked < s.lane.sub.share:
				window = s.lane.sub.window
			}
		}
		select {
		case d, ok := <-s.deliveries:
			if !ok {
				return s.reason()
			}
			s.take(d)
		case window <- struct{}{}:
			s.reserved = true
		case out <- m:
			s.handOut()
		case a := <-s.answers:
			if err := s.settle(a); err != nil {
				return err
			}
		case <-s.due.C:
			if err := s.tell(false); err != nil {
				return err
			}
		case <-stop:
			stop, stopping = nil, true
			s.lane.stopIntake()
		case <-closing:
			return s.giveBack()
		case <-yield:
			yielding = time.After(yieldTimeout)
		case <-yielding:
			yielding = nil
		}
	}
}

// take notes a delivery.
func (s *session) take(d amqp.Delivery) {
	s.lane.active.Store(true)
	s.flights = append(s.flights, &flight{delivery: d})
	s.left++
	s.report()
	if s.lane.expected > 0 && len(s.flights) == s.lane.expected {
		s.lane.expected = 0
		close(s.lane.arrived)
	}
}

// candidate is what to hand out next: what was nacked comes before everything
// that was never handed out.
func (s *session) candidate() *flight {
	if len(s.again) > 0 {
		return s.again[0]
	}
	if s.next < len(s.flights) {
		return s.flights[s.next]
	}
	return nil
}

// load makes the message of a flight, with bytes of its own: a handler may
// scribble on them before it nacks.
func (s *session) load(f *flight) {
	if f.message != nil {
		return
	}
	d := f.delivery
	d.Body = bytes.Clone(d.Body)
	f.message = decode(d)
	var ctx context.Context
	ctx, f.cancel = context.WithCancel(s.base)
	f.message.SetContext(messageContext{ctx, s.base})
}

// messageContext ends with its session, along with all others of it: cancelling
// reaches one child context after the other, in no order, and in between a later
// message of a key could be handled while an earlier one is given up already.
type messageContext struct {
	context.Context
	session context.Context
}

func (c messageContext) Err() error {
	if err := c.session.Err(); err != nil {
		return err
	}
	return c.Context.Err()
}

func (s *session) handOut() {
	f := s.candidate()
	if len(s.again) > 0 {
		s.again = s.again[1:]
	} else {
		s.next++
		s.unacked++
		s.reserved = false // the place is the message's now
	}
	f.isOut = true
	s.out++
	s.watchers.Go(func() { s.watch(f, f.message) })
}

// watch waits for the answer to a message that is out.
func (s *session) watch(f *flight, m *message.Message) {
	a := answer{flight: f}
	select {
	case <-m.Acked():
		a.acked = true
	case <-m.Nacked():
	case <-s.gone:
		return
	}
	select {
	case s.answers <- a:
	case <-s.gone:
	}
}

// end takes the contexts of what is out away and frees its places.
func (s *session) end() {
	s.cancel()
	s.due.Stop()
	close(s.gone)
	s.watchers.Wait()
	s.unreserve()
	for range s.unacked {
		<-s.lane.sub.window
	}
	if !s.channel.IsClosed() {
		s.channel.Close() //nolint:errcheck // what is wrong with it was said
	}
}

// reason says why the broker or the network ended the channel.
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

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
