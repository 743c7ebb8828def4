package amqpbus

import (
	"context"
	"errors"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// tellEvery is how long acknowledgements are gathered. A quorum queue writes
	// each frame of them to its log, and keeps those that are too many waiting in
	// the channel's process, where closing the channel loses them.
	tellEvery = 5 * time.Millisecond
	// tellAlone is how many times an acknowledgement waits for those before it,
	// to go with them in one frame: 100 ms.
	tellAlone = 20
)

// settle acts on an answer, and on those that have come with it.
func (s *session) settle(a answer) error {
	for {
		s.answer(a)
		select {
		case a = <-s.answers:
			continue
		default:
		}
		if len(s.fresh) >= max(1, s.lane.sub.prefetch/4) {
			return s.tell(false) // the broker has room for more to send
		}
		s.gather()
		return nil
	}
}

// gather lets the broker be told in a moment.
func (s *session) gather() {
	if !s.gathering && len(s.fresh) > 0 {
		s.gathering = true
		s.due.Reset(tellEvery)
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
	s.acknowledge(f)
}

func (s *session) acknowledge(f *flight) {
	f.acked, f.round = true, s.round
	s.fresh = append(s.fresh, f)
	s.left--
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

// tell acknowledges to the broker: the longest prefix in one frame, and by itself
// each message beyond it that has waited long enough for the prefix, or every one,
// so that what was acknowledged does not come again after a crash.
func (s *session) tell(every bool) error {
	s.gathering = false
	s.round++
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
	waiting := 0
	for _, f := range s.fresh {
		switch {
		case f.told:
		case every || s.round-f.round > tellAlone:
			f.told = true
			if err := s.channel.Ack(f.delivery.DeliveryTag, false); err != nil {
				return err
			}
		default:
			s.fresh[waiting] = f
			waiting++
		}
	}
	clear(s.fresh[waiting:])
	s.fresh = s.fresh[:waiting]
	s.report()
	s.gather()
	return nil
}

// report tells what Lag wants to know.
func (s *session) report() {
	s.lane.held.Store(int64(s.left))
	if s.left > 0 && !s.flights[0].delivery.Timestamp.IsZero() {
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
			f.isOut = false
			s.acknowledge(f)
		}
	}
	err := s.tell(true)
	switch {
	case err != nil:
		err = errors.Join(err, closeChannel(s.channel))
	case s.lane.sub.group.held():
		// Letters have no order that the next consumer could break by coming too
		// early; but who counts them next should count all.
		err = s.lane.sub.subscriber.driver.handBack(context.WithoutCancel(s.base), s.channel, s.lane.queue, s.left)
	default:
		// The broker reads the acknowledgements before this.
		err = closeChannel(s.channel)
	}
	if errors.Is(err, amqp.ErrClosed) {
		return s.reason()
	}
	return err
}
