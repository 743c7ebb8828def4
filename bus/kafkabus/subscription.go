package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/window"
)

// subscription is one member of a group on one topic. It implements
// sarama.ConsumerGroupHandler. Its life:
//
//	taking    hands over the messages of its partitions
//	settling  the intake has ended: holds its partitions until everything
//	          handed over is acknowledged
//	leaving   commits and leaves the group
//
// Close skips settling.
type subscription struct {
	topic  string
	client sarama.Client
	member sarama.ConsumerGroup
	span   int
	handed time.Duration // how long a partition that is taken away waits
	log    *slog.Logger
	out    chan *message.Message
	window *window.Window[*claim]
	values context.Context // of Subscribe, without its end

	committed func(map[string][]int32) (map[string]map[int32]commit, error)

	stopped chan struct{} // closed: the intake has ended
	ending  chan struct{} // closed by Close: wait for no acknowledgement any more
	endOnce sync.Once
	done    chan struct{} // closed when everything has ended
	err     error         // of leaving; read after done

	session context.Context // of the membership
	leave   context.CancelCauseFunc

	mu      sync.Mutex
	halted  bool // no claim may begin to send
	senders sync.WaitGroup

	down    atomic.Bool // trouble was reported
	leaving atomic.Bool
	unsure  atomic.Pointer[error] // of a commit while leaving; another attempt may have followed
	marked  map[int32]int64       // by partition, what should be committed; guarded by mu
	found   map[int32]commit      // by partition, what was when the session began; guarded by mu
}

// errLeaving is why the membership ends when we end it.
var errLeaving = errors.New("the subscription ends")

func newSubscription(s *subscriber, topic string, client sarama.Client, member sarama.ConsumerGroup) *subscription {
	return &subscription{
		topic: topic, client: client, member: member,
		span: max(maxSpan, s.window), handed: s.driver.set.HandOverTimeout,
		log:    s.driver.set.Logger.With(slog.String("topic", topic), slog.String("group", s.group)),
		out:    make(chan *message.Message),
		window: window.New(s.window, (*claim).kick), marked: map[int32]int64{},
		committed: func(map[string][]int32) (map[string]map[int32]commit, error) {
			return s.driver.committed(context.Background(), s.group)
		},
		stopped: make(chan struct{}), ending: make(chan struct{}), done: make(chan struct{}),
	}
}

// maxSpan is how far the newest message handed over may be ahead of the first
// unacknowledged one of its partition: a crash repeats no more.
const maxSpan = 25_000

// rejoin is the pause after a membership that ended in trouble.
var rejoin = backoff.Policy{Initial: 100 * time.Millisecond, Max: 5 * time.Second, Jitter: 0.2}

// run lives as long as the subscription has anything to do.
func (s *subscription) run(ctx context.Context) {
	s.values = context.WithoutCancel(ctx)
	s.session, s.leave = context.WithCancelCause(s.values)
	defer s.leave(errLeaving)

	var side sync.WaitGroup
	side.Go(func() { s.watch(ctx) })
	side.Go(func() {
		for err := range s.member.Errors() {
			s.trouble(err)
		}
	})
	s.consume()
	s.leaving.Store(true)
	err := s.member.Close()
	if errors.As(err, new(*sarama.ConsumerError)) {
		// Close returns what it finds among Errors before side does.
		s.trouble(err)
		err = nil
	}
	side.Wait()
	err = errors.Join(s.uncommitted(), err, s.client.Close())
	s.err = wrap(err, "leave the group of %s", s.topic)
}

// uncommitted returns an error when acknowledgements could not be written.
func (s *subscription) uncommitted() error {
	unsure := s.unsure.Load()
	if unsure == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	partitions := slices.Collect(maps.Keys(s.marked))
	committed, err := s.committed(map[string][]int32{s.topic: partitions})
	if err == nil && !slices.ContainsFunc(partitions, func(p int32) bool { return committed[s.topic][p].offset < s.marked[p] }) {
		return nil
	}
	return fmt.Errorf("acknowledgements could not be written, so their messages are delivered again: %w", *unsure)
}

// mark notes up to where a partition is acknowledged.
func (s *subscription) mark(partition int32, next int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marked[partition] = next
}

// watch ends the intake, and then the membership.
func (s *subscription) watch(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.ending:
	}
	s.mu.Lock()
	s.halted = true
	s.mu.Unlock()
	close(s.stopped)
	s.window.Stop()
	s.senders.Wait()
	close(s.out)
	select {
	case <-s.window.Idle():
	case <-s.ending:
	}
	s.leaving.Store(true)
	s.leave(errLeaving)
}

// consume keeps the membership until it is given up.
func (s *subscription) consume() {
	failures := 0
	for s.session.Err() == nil {
		began := time.Now()
		err := s.member.Consume(s.session, []string{s.topic}, s)
		if s.session.Err() != nil {
			return
		}
		if time.Since(began) > time.Minute {
			failures = 0
		}
		failures++
		if err != nil {
			s.trouble(err)
		}
		if backoff.Sleep(s.session, rejoin.Delay(failures)) != nil {
			return
		}
	}
}

// Setup implements sarama.ConsumerGroupHandler.
func (s *subscription) Setup(session sarama.ConsumerGroupSession) error {
	s.recovered()
	committed, err := s.committed(session.Claims())
	if err != nil {
		s.log.Warn("kafkabus: what was done behind the committed offsets cannot be read; it is delivered again", slog.Any("error", err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = committed[s.topic]
	return nil
}

// left is what an earlier owner of the partition has done behind the offset at which the
// claim begins.
func (s *subscription) left(from sarama.ConsumerGroupClaim) map[int64]struct{} {
	s.mu.Lock()
	at, ok := s.found[from.Partition()]
	s.mu.Unlock()
	if !ok || at.offset != from.InitialOffset() {
		return nil
	}
	done, err := doneIn(at)
	if err != nil {
		s.log.Warn("kafkabus: what was done behind a committed offset cannot be read; it is delivered again",
			slog.Int("partition", int(from.Partition())), slog.Any("error", err))
	}
	return done
}

// Cleanup implements sarama.ConsumerGroupHandler.
func (s *subscription) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim implements sarama.ConsumerGroupHandler.
func (s *subscription) ConsumeClaim(session sarama.ConsumerGroupSession, from sarama.ConsumerGroupClaim) error {
	newClaim(s, session, from).run()
	return nil
}

// enter reports whether a claim may send; then it must call senders.Done.
func (s *subscription) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.halted {
		return false
	}
	s.senders.Add(1)
	return true
}

// trouble reports what went wrong, once until it is over.
func (s *subscription) trouble(err error) {
	if s.leaving.Load() {
		switch {
		case isKerror(err, sarama.ErrIllegalGeneration, sarama.ErrUnknownMemberId, sarama.ErrRebalanceInProgress):
			// Somebody else came or left at the same time, so the partitions are another's
			// already, who gets what was acknowledged last once more, as after any rebalance.
			s.log.Info("kafkabus: the group was shared out anew while leaving; what was acknowledged last may be delivered again", slog.Any("error", err))
		case errors.As(err, new(*sarama.ConsumerError)):
			s.unsure.CompareAndSwap(nil, &err)
		}
		return
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, sarama.ErrClosedConsumerGroup) {
		return
	}
	if !s.down.Swap(true) {
		s.log.Warn("kafkabus: reading is in trouble; trying again until it works", slog.Any("error", err))
	}
}

// recovered reports that the trouble is over.
func (s *subscription) recovered() {
	if s.down.Load() && s.down.Swap(false) {
		s.log.Info("kafkabus: reading works again")
	}
}

// close ends the subscription, settled or not.
func (s *subscription) close() error {
	s.endOnce.Do(func() { close(s.ending) })
	<-s.done
	return s.err
}
