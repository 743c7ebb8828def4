package sqsbus

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/internal/backoff"
)

// nackDelay is how long a refused message waits for its next delivery. Retries
// with longer pauses are the business of the consumer, who then does not nack.
var nackDelay = backoff.Policy{Initial: 5 * time.Millisecond, Max: 100 * time.Millisecond}

// subscription is one reader of a queue. Its parts:
//
//	poll      receives messages while there is room in the window
//	deliver   hands them over, in order
//	keeper    deletes what is acknowledged, hands back the rest, extends the
//	          time that SQS leaves them to us
//
// SQS keeps the order: while we have messages of a key it gives out no others of
// that key, to nobody.
type subscription struct {
	*subscriber
	queue queue
	log   *slog.Logger
	out   chan *message.Message

	stop     chan struct{} // closed by close: end the intake
	stopOnce sync.Once
	over     chan struct{} // closed by close: wait for no acknowledgement any more
	overOnce sync.Once
	done     chan struct{} // closed after run

	kicked   chan struct{} // capacity 1: deliver has something to look at
	room     chan struct{} // capacity 1: poll may have room
	settled  chan struct{} // capacity 1: a message was settled
	watchers sync.WaitGroup
	keeper   *keeper

	mu      sync.Mutex
	ended   bool     // the intake has ended
	waiting []*taken // received, to be handed over in this order
	nacked  []*taken // refused, to be handed over again before those
	open    int      // received and not settled
	err     error
}

// taken is one message that SQS has given us for a while.
type taken struct {
	msg     *message.Message // as received; handed over are copies
	receipt string
	nacks   int
	due     time.Time // after a nack: when to hand it over again

	mu      sync.Mutex
	until   time.Time // how long SQS leaves it to us at least
	lost    bool      // SQS has given it to another, or may have
	revoked chan struct{}
}

// left is how long the message is ours for sure.
func (t *taken) left() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost {
		return 0
	}
	return time.Until(t.until)
}

func (t *taken) extend(until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = until
}

// lose takes the message away from its handler.
func (t *taken) lose() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.lost {
		t.lost = true
		close(t.revoked)
	}
}

func newSubscription(s *subscriber, q queue) *subscription {
	sub := &subscription{
		subscriber: s, queue: q,
		log:  s.driver.cfg.Logger.With(slog.String("topic", q.topic), slog.String("group", s.group)),
		out:  make(chan *message.Message),
		stop: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{}),
		kicked: make(chan struct{}, 1), room: make(chan struct{}, 1), settled: make(chan struct{}, 1),
	}
	sub.keeper = newKeeper(sub)
	return sub
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run lives as long as the subscription has anything to do.
func (s *subscription) run(ctx context.Context) {
	intake, cancel := context.WithCancel(ctx)
	defer cancel()
	values := context.WithoutCancel(ctx)
	var parts sync.WaitGroup
	parts.Go(func() {
		select {
		case <-s.stop:
			cancel()
		case <-intake.Done():
		}
	})
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		s.keeper.run(values)
	}()
	parts.Go(func() { s.poll(intake, values) })

	s.deliver(intake, values)
	s.endIntake()
	close(s.out)
	parts.Wait() // what the last request brings is handed back

	s.await()
	s.watchers.Wait()
	s.keeper.end()
	<-kept
}

// endIntake hands back what nobody has.
func (s *subscription) endIntake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, t := range append(s.nacked, s.waiting...) {
		s.handBack(t)
	}
	s.nacked, s.waiting = nil, nil
}

// await returns when everything that was handed over is settled, or need not be.
func (s *subscription) await() {
	for {
		s.mu.Lock()
		open := s.open
		s.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-s.settled:
		case <-s.over:
			return
		}
	}
}

// close ends the subscription, settled or not.
func (s *subscription) close() error {
	s.stopOnce.Do(func() { close(s.stop) })
	s.overOnce.Do(func() { close(s.over) })
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// handBack lets SQS deliver the message again; s.mu is held.
func (s *subscription) handBack(t *taken) {
	s.settle()
	s.keeper.release(t)
}

// settle is the end of a message here; s.mu is held.
func (s *subscription) settle() {
	s.open--
	signal(s.room)
	signal(s.settled)
}

// deliver hands messages over until the intake ends.
func (s *subscription) deliver(intake, values context.Context) {
	for intake.Err() == nil {
		t, wait := s.next()
		if t == nil {
			s.wait(intake, wait)
			continue
		}
		left := t.left()
		if left <= 0 {
			s.drop(t)
			continue
		}
		s.handOver(intake, values, t, left)
	}
}

// next returns the message that is next, or how long until one may be.
func (s *subscription) next() (*taken, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.nacked) > 0 {
		if wait := time.Until(s.nacked[0].due); wait > 0 {
			return nil, wait
		}
		return s.nacked[0], 0
	}
	if len(s.waiting) > 0 {
		return s.waiting[0], 0
	}
	return nil, time.Hour
}

// taking removes the message that next returned.
func (s *subscription) taking(t *taken) {
	if len(s.nacked) > 0 && s.nacked[0] == t {
		s.nacked = s.nacked[1:]
		return
	}
	s.waiting = s.waiting[1:]
}

// drop forgets a message that SQS may have given to another.
func (s *subscription) drop(t *taken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taking(t)
	s.settle()
	s.keeper.forget(t)
}

func (s *subscription) wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.kicked:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// handOver waits for the consumer, but no longer than the message is ours.
func (s *subscription) handOver(intake, values context.Context, t *taken, left time.Duration) {
	msg := t.msg.Copy()
	ctx, cancel := context.WithCancel(values)
	msg.SetContext(ctx)
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case s.out <- msg:
		s.mu.Lock()
		s.taking(t)
		s.mu.Unlock()
		s.watchers.Go(func() {
			defer cancel()
			s.watch(t, msg)
		})
		return
	case <-timer.C:
	case <-s.kicked: // perhaps a refused message, which comes first
	case <-intake.Done():
	}
	cancel()
}

// watch waits for the fate of a message.
func (s *subscription) watch(t *taken, msg *message.Message) {
	select {
	case <-msg.Acked():
		s.ack(t)
	case <-msg.Nacked():
		s.nack(t)
	case <-t.revoked:
		s.log.Warn("bus: SQS has taken a message back, and delivers it again", eventlog.Message(t.msg))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.settle()
		s.keeper.forget(t)
	case <-s.over:
		// It counts what was acknowledged before, seen or not.
		select {
		case <-msg.Acked():
			s.ack(t)
		default:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.handBack(t)
		}
	}
}

func (s *subscription) ack(t *taken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	s.keeper.delete(t)
}

func (s *subscription) nack(t *taken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		s.handBack(t)
		return
	}
	t.nacks++
	t.due = time.Now().Add(nackDelay.Delay(t.nacks))
	s.nacked = append(s.nacked, t)
	signal(s.kicked)
}
