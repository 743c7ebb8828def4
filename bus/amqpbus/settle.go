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
	// tellEvery is how long acknowledgements are gathered. A quorum queue writes
	// each frame of them to its log, and keeps those that are too many waiting in
	// the channel's process, where closing the channel loses them.
	tellEvery = 5 * time.Millisecond
	// tellAlone is how many times an acknowledgement waits for those before it,
	// to go with them in one frame: 100 ms.
	tellAlone = 20
	// tellAtOnce is how many single acknowledgements are told at once before a channel is
	// closed: a quorum queue takes 32 commands of a channel before it keeps them waiting
	// (quorum_commands_soft_limit).
	tellAtOnce = 16
)

// settle notes what became of a message.
func (s *session) settle(f *flight, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.out || s.over {
		return
	}
	f.out = false
	s.out--
	if !done {
		// By age, among the others of its kind.
		i, _ := slices.BinarySearchFunc(s.again, f, func(a, b *flight) int {
			return cmp.Compare(a.delivery.DeliveryTag, b.delivery.DeliveryTag)
		})
		s.again = slices.Insert(s.again, i, f)
		s.lane.source.tell()
	} else {
		f.acked, f.round = true, s.round
		s.fresh = append(s.fresh, f)
		s.news++
		s.left--
		s.lane.source.window.Give(s)
	}
	if s.paused || s.news > 0 && (!s.gathering || s.many()) {
		s.wake()
	}
}

// many is whether the broker is to be told at once, because it has room for more to send.
func (s *session) many() bool { return s.news >= max(1, s.lane.source.prefetch/4) }

// work tells the broker of acknowledgements that are many, and of others in a moment.
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

// gather lets the broker be told in a moment; s.mu is held.
func (s *session) gather() {
	if !s.gathering && len(s.fresh) > 0 {
		s.gathering = true
		s.due.Reset(tellEvery)
	}
}

// tell acknowledges to the broker: the longest prefix in one frame, and by itself
// each message beyond it that has waited long enough for the prefix, or every one,
// so that what was acknowledged does not come again after a crash.
func (s *session) tell(every bool) error {
	prefix, alone := s.toTell(every)
	if prefix > 0 {
		if err := s.channel.Ack(prefix, true); err != nil {
			return err
		}
	}
	for i, tag := range alone {
		if err := s.channel.Ack(tag, false); err != nil {
			return err
		}
		if every && (i%tellAtOnce == tellAtOnce-1 || i == len(alone)-1) {
			time.Sleep(tellEvery)
		}
	}
	return nil
}

// toTell is what tell acknowledges: all up to a tag (0: none), and single tags.
func (s *session) toTell(every bool) (last uint64, alone []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gathering, s.news = false, 0
	s.round++
	n := 0
	for n < len(s.flights) && s.flights[n].acked {
		if f := s.flights[n]; !f.told {
			// A tag that the broker was told before must not end a prefix: it
			// would acknowledge everything.
			f.told, last = true, f.delivery.DeliveryTag
		}
		n++
	}
	if n > 0 {
		// Copied down, or the array would grow at its end and keep what is done.
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
	s.report()
	s.gather()
	return last, alone
}

// report tells what Lag wants to know; s.mu is held.
func (s *session) report() {
	s.lane.held.Store(int64(s.left))
	if s.left > 0 && !s.flights[0].delivery.Timestamp.IsZero() {
		s.lane.oldest.Store(s.flights[0].delivery.Timestamp.Unix())
	} else {
		s.lane.oldest.Store(0)
	}
}

// giveBack acknowledges what was acknowledged and closes the channel: the
// broker takes the rest back.
func (s *session) giveBack() error {
	left := s.stop()
	err := s.tell(true)
	switch {
	case err != nil:
		err = errors.Join(err, closeChannel(s.channel))
	case s.lane.source.group.held():
		// Letters have no order that the next consumer could break by coming too
		// early; but its count of them should be complete.
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
