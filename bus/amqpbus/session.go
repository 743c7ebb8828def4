package amqpbus

import (
	"bytes"
	"context"
	"errors"
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

	base     context.Context //nolint:containedctx // of the messages: ends with the channel
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
	fresh    []*flight // acknowledged and not yet told to the broker
}

// flight is a message that the broker has given us.
type flight struct {
	delivery amqp.Delivery
	message  *message.Message
	cancel   context.CancelFunc
	isOut    bool
	acked    bool
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
	}
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
	f.message.SetContext(ctx)
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

// settle acts on an answer, and on those that have come with it: the broker is
// told about all of them at once.
func (s *session) settle(a answer) error {
	for {
		s.answer(a)
		select {
		case a = <-s.answers:
			continue
		default:
		}
		return s.tell()
	}
}

func (s *session) answer(a answer) {
	f := a.flight
	f.cancel()
	f.isOut = false
	s.out--
	if !a.acked {
		f.message = nil
		s.requeue(f)
		return
	}
	f.acked = true
	s.fresh = append(s.fresh, f)
	s.unacked--
	<-s.lane.sub.window
}

// requeue puts a nacked flight among the others of its kind, by age.
func (s *session) requeue(f *flight) {
	i := len(s.again)
	for i > 0 && s.again[i-1].delivery.DeliveryTag > f.delivery.DeliveryTag {
		i--
	}
	s.again = append(s.again, nil)
	copy(s.again[i+1:], s.again[i:])
	s.again[i] = f
}

// tell acknowledges to the broker: the longest prefix in one frame, and each
// message beyond it by itself, so that only what was not acknowledged comes
// again after a crash.
func (s *session) tell() error {
	var last uint64
	n := 0
	for n < len(s.flights) && s.flights[n].acked {
		if f := s.flights[n]; !f.told {
			// A tag that the broker was told before must not end a prefix: it
			// would acknowledge everything.
			f.told, last = true, f.delivery.DeliveryTag
		}
		n++
	}
	if last > 0 {
		if err := s.channel.Ack(last, true); err != nil {
			return err
		}
	}
	if n > 0 {
		// Copied down, or the array would grow at its end and keep what is done.
		rest := copy(s.flights, s.flights[n:])
		clear(s.flights[rest:])
		s.flights = s.flights[:rest]
		s.next -= n
	}
	for _, f := range s.fresh {
		if f.told {
			continue
		}
		f.told = true
		if err := s.channel.Ack(f.delivery.DeliveryTag, false); err != nil {
			return err
		}
	}
	clear(s.fresh)
	s.fresh = s.fresh[:0]
	s.report()
	return nil
}

// report tells what Lag wants to know.
func (s *session) report() {
	s.lane.held.Store(int64(len(s.flights)))
	if len(s.flights) > 0 && !s.flights[0].delivery.Timestamp.IsZero() {
		s.lane.oldest.Store(s.flights[0].delivery.Timestamp.Unix())
	} else {
		s.lane.oldest.Store(0)
	}
}

func (s *session) unreserve() {
	if s.reserved {
		s.reserved = false
		<-s.lane.sub.window
	}
}

// giveBack acknowledges what was acknowledged and closes the channel: the
// broker takes the rest back.
func (s *session) giveBack() error {
	for _, f := range s.flights[:s.next] {
		if f.isOut && isClosed(f.message.Acked()) {
			f.acked, f.isOut = true, false
			s.fresh = append(s.fresh, f)
			s.unacked--
			<-s.lane.sub.window
		}
	}
	closing := closeChannel
	if s.lane.sub.group.held() {
		// Letters have no order that the next consumer could break by coming too
		// early; but who counts them next should count all.
		closing = leave
	}
	err := s.tell()
	// The broker reads the acknowledgements before this.
	if cerr := closing(s.channel); err == nil {
		err = cerr
	}
	if left := s.left(); err == nil && left > 0 && s.lane.sub.group.held() {
		s.lane.sub.subscriber.driver.awaitReturn(context.WithoutCancel(s.lane.sub.base), s.lane.queue, left)
	}
	if errors.Is(err, amqp.ErrClosed) {
		return s.reason()
	}
	return err
}

// left counts what was not acknowledged.
func (s *session) left() int {
	n := 0
	for _, f := range s.flights {
		if !f.acked {
			n++
		}
	}
	return n
}

// end takes the contexts of what is out away and frees its places.
func (s *session) end() {
	s.cancel()
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
