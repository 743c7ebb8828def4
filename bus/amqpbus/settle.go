package amqpbus

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// tellEvery is how long acknowledgements are batched. A quorum queue writes each frame
	// of them to its log.
	tellEvery = 5 * time.Millisecond
	// tellAlone is how many times an acknowledgement waits for those before it, to be sent
	// with them in one frame: 100 ms.
	tellAlone = 20
	// tellAtOnce is how many single acknowledgements are sent before a channel is closed
	// until the queue has them. A quorum queue takes 32 commands of a channel at once
	// (quorum_commands_soft_limit); the others wait in the channel's process, and closing the
	// channel loses them.
	tellAtOnce = 16
)

// settle notes the outcome of a message.
func (s *session) settle(f *flight, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.out || s.over {
		return
	}
	f.out = false
	s.out--
	if !done {
		// By age, among the other returned messages.
		i, _ := slices.BinarySearchFunc(s.again, f, func(a, b *flight) int {
			return cmp.Compare(a.delivery.DeliveryTag, b.delivery.DeliveryTag)
		})
		s.again = slices.Insert(s.again, i, f)
		s.lane.source.ready.Send()
	} else {
		f.acked, f.round = true, s.round
		s.fresh = append(s.fresh, f)
		s.news++
		s.left--
		s.lane.source.window.Give(s)
	}
	if s.paused || s.news > 0 && (!s.gathering || s.many()) {
		s.changed.Send()
	}
}

// many reports whether to acknowledge at once, because the broker then has room to send more.
func (s *session) many() bool { return s.news >= max(1, s.lane.source.prefetch/4) }

// work acknowledges at once when acknowledgements are many, and otherwise after a delay.
func (s *session) work() error {
	s.mu.Lock()
	many := s.many()
	if !many {
		s.gather()
	}
	s.mu.Unlock()
	if many {
		return s.tell(false)
	}
	return nil
}

// gather schedules acknowledging after tellEvery; s.mu is held.
func (s *session) gather() {
	if !s.gathering && len(s.fresh) > 0 {
		s.gathering = true
		s.due.Reset(tellEvery)
	}
}

// tell sends acknowledgements to the broker: the longest prefix in one frame, and singly
// each message beyond it that has waited long enough for the prefix, or with every each of
// them, so that acknowledged messages are not redelivered after a crash.
func (s *session) tell(every bool) error {
	prefix, alone := s.toTell(every)
	if prefix > 0 {
		if err := s.channel.Ack(prefix, true); err != nil {
			return err
		}
	}
	for i, tag := range alone {
		if every && i%tellAtOnce == 0 {
			if err := s.settled(); err != nil {
				return err
			}
		}
		if err := s.channel.Ack(tag, false); err != nil {
			return err
		}
	}
	for more := every; more; more = s.second {
		if err := s.settled(); err != nil {
			return err
		}
	}
	return nil
}

// settled waits until the queue has carried out the acknowledgements that were sent. The
// broker does not confirm them, but it answers a consumer that joins or leaves, and a quorum
// queue does that in the order of its log. The second consumer gets no message: the queue's
// only active consumer is the first.
func (s *session) settled() (err error) {
	const tag = consumerTag + "-settled"
	if s.second {
		err = s.channel.Cancel(tag, false)
	} else {
		_, err = s.channel.Consume(s.lane.queue, tag, false, false, false, false, nil)
	}
	s.second = !s.second
	return err
}

// toTell returns the acknowledgements to send: all up to a tag (0: none), and single tags.
func (s *session) toTell(every bool) (last uint64, alone []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gathering, s.news = false, 0
	s.round++
	n := 0
	for n < len(s.flights) && s.flights[n].acked {
		if f := s.flights[n]; !f.told {
			// A tag that was sent before must not end a prefix: it would acknowledge everything.
			f.told, last = true, f.delivery.DeliveryTag
		}
		n++
	}
	if n > 0 {
		// Copied down, or the array would grow at its end and keep finished messages.
		rest := copy(s.flights, s.flights[n:])
		clear(s.flights[rest:])
		s.flights = s.flights[:rest]
		s.next -= n
	}
	s.fresh = slices.DeleteFunc(s.fresh, func(f *flight) bool {
		if !f.told && (every || s.round-f.round > tellAlone) {
			f.told = true
			alone = append(alone, f.delivery.DeliveryTag)
		}
		return f.told
	})
	s.gather()
	return last, alone
}

// held returns how many messages are not acknowledged, and when the first of them was published;
// zero when that is unknown.
func (s *session) held() (n int, oldest time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.flights, func(f *flight) bool { return !f.acked }); i >= 0 {
		oldest = s.flights[i].delivery.Timestamp
	}
	return s.left, oldest
}

// giveBack sends the acknowledgements and closes the channel: the broker takes the rest back.
func (s *session) giveBack() error {
	left := s.stop()
	err := s.tell(true)
	switch {
	case err != nil:
		err = errors.Join(err, closeChannel(s.channel))
	case s.lane.source.group.held():
		// Letters have no order that an early next consumer could break; but its count of
		// them should be complete.
		err = s.lane.source.driver.handBack(context.WithoutCancel(s.ctx), s.channel, s.lane.queue, left)
	default:
		// The broker reads the acknowledgements before this.
		err = closeChannel(s.channel)
	}
	if errors.Is(err, amqp.ErrClosed) {
		return s.reason()
	}
	return err
}
