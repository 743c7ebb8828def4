package txbus

import (
	"context"
	"log/slog"
	"sync"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/internal/backoff"
)

const (
	// forever replaces Watermill's acknowledgement deadline, which cannot be disabled. When it
	// passes, Watermill commits the handler's writes so far, without the offset.
	forever = 100 * 365 * 24 * time.Hour
	// commitTimeout bounds how long Close waits for the commit of acknowledged messages.
	commitTimeout = 5 * time.Second
)

// again is how long a message that was handed back waits for its next delivery.
var again = backoff.Policy{Initial: 5 * time.Millisecond, Max: 100 * time.Millisecond}

// subscription is one reader of a topic for a group. It runs Watermill's subscriber, one message
// per transaction, and restarts it to roll a transaction back: Watermill itself would hand a
// nacked message out again in the same transaction, with the writes of its handler.
type subscription struct {
	driver *Driver
	group  string
	topic  string // "" before Subscribe
	log    *slog.Logger

	out       chan *message.Message
	ended     bool // out is closed
	closeOnce sync.Once
	closing   chan struct{} // closed by Close
	done      chan struct{} // closed when everything has ended
}

// subscriber makes the subscriber of one subscription.
func (d *Driver) subscriber(_ context.Context, group string) (message.Subscriber, error) {
	if err := checkGroup(group); err != nil {
		return nil, err
	}
	return &subscription{
		driver: d, group: group, log: d.Logger.With(slog.String("group", group)),
		out: make(chan *message.Message), closing: make(chan struct{}), done: make(chan struct{}),
	}, nil
}

// Subscribe joins the group. When ctx is done the channel is closed, and messages that are out
// can be acknowledged until Close.
func (s *subscription) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if err := s.driver.join(ctx, topic, s.group); err != nil {
		return nil, err
	}
	if _, err := s.driver.deliveries(ctx); err != nil {
		return nil, err
	}
	s.topic, s.log = topic, s.log.With(slog.String("topic", topic))
	go func() {
		defer close(s.done)
		s.run(ctx)
	}()
	return s.out, nil
}

// Close stops the intake and closes the channel. Acknowledged messages are committed; those that
// are out are rolled back and redelivered.
func (s *subscription) Close() error {
	s.closeOnce.Do(func() { close(s.closing) })
	if s.topic != "" {
		<-s.done
	}
	return nil
}

// run runs until ctx is done or Close is called.
func (s *subscription) run(ctx context.Context) {
	defer s.endIntake()
	failures, givenBack := 0, 0
	for !s.stopped(ctx) {
		delivered, err := s.read(ctx)
		var wait time.Duration
		switch {
		case s.stopped(ctx):
			return
		case err != nil:
			failures++
			s.log.Warn("bus: subscribing failed; trying again", slog.Int("attempt", failures), slog.Any("error", err))
			wait = backoff.Policy{Initial: 20 * time.Millisecond, Max: 2 * time.Second, Jitter: 0.3}.Delay(failures)
		case delivered:
			failures, givenBack = 0, 1
			wait = again.Delay(givenBack)
		default:
			failures = 0
			givenBack++
			wait = again.Delay(givenBack)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-s.closing:
		}
		timer.Stop()
	}
}

func (s *subscription) stopped(ctx context.Context) bool {
	select {
	case <-s.closing:
		return true
	default:
		return ctx.Err() != nil
	}
}

func (s *subscription) endIntake() {
	if !s.ended {
		s.ended = true
		close(s.out)
	}
}

// read hands messages over until one has to be rolled back, or the subscription ends. delivered
// reports whether any was committed.
func (s *subscription) read(ctx context.Context) (delivered bool, err error) {
	// Ending this context rolls a transaction back: database/sql does so and prevents a commit.
	// Closing Watermill's subscriber would commit.
	life, rollback := context.WithCancel(context.WithoutCancel(ctx))
	deadline := forever
	r := newRounds(life, s)
	pool, err := s.driver.deliveries(life)
	if err != nil {
		rollback()
		return false, err
	}
	inner, err := wmsql.NewSubscriber(pool, wmsql.SubscriberConfig{
		ConsumerGroup: s.group, AckDeadline: &deadline, BackoffManager: r,
		SchemaAdapter: s.driver.Dialect.Schema(), OffsetsAdapter: s.driver.Dialect.Offsets(),
	}, r)
	if err != nil {
		rollback()
		return false, err
	}
	in, err := inner.Subscribe(life, s.topic)
	if err != nil {
		rollback()
		return false, err
	}
	defer func() {
		rollback()
		inner.Close() //nolint:errcheck // it returns nil
	}()
	for {
		select {
		case <-s.closing:
			return delivered, nil
		case <-ctx.Done():
			return delivered, nil
		case m := <-in:
			if !s.handOver(ctx, m, r) {
				return delivered, nil
			}
			delivered = true
		}
	}
}

// handOver gives a message to the consumer and reports whether Watermill has to commit the
// transaction.
func (s *subscription) handOver(ctx context.Context, m *message.Message, r *rounds) bool {
	d := newDelivery(m)
	defer d.cancel()
	select {
	case s.out <- d.msg:
	case <-ctx.Done():
		return false
	case <-s.closing:
		return false
	}
	intake := ctx.Done()
	for {
		select {
		case <-d.msg.Acked():
		case <-d.msg.Nacked():
			return false
		case <-intake:
			intake = nil
			s.endIntake() // messages that are out still count
			continue
		case <-s.closing:
			// An acknowledgement made before counts, seen or not.
			select {
			case <-d.msg.Acked():
			default:
				return false
			}
		}
		break
	}
	if d.lost() {
		return false // its transaction has ended
	}
	ending := r.ending()
	m.Ack()
	select {
	case committed := <-ending:
		if committed {
			d.committed()
		} else {
			s.log.Warn("bus: a transaction was not committed; its message is delivered again", eventlog.Message(m))
		}
		return true
	case <-time.After(opTimeout):
	case <-s.closing:
		select {
		case committed := <-ending:
			if committed {
				d.committed()
			}
			return true
		case <-time.After(commitTimeout):
		}
	}
	s.log.Warn("bus: a transaction could not be committed in time; its message is delivered again", eventlog.Message(m))
	return false
}
