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

var (
	// again is how long a message that was handed back waits for its next delivery.
	again = backoff.Policy{Initial: 5 * time.Millisecond, Max: 100 * time.Millisecond}
	// bad is the wait after an error of the database.
	bad = backoff.Policy{Initial: 20 * time.Millisecond, Max: 2 * time.Second, Jitter: 0.3}
)

// subscription is one reader of a topic for a group. It runs Watermill's subscriber, one message
// per transaction, and restarts it to roll a transaction back: Watermill itself would hand a
// nacked message out again in the same transaction, with the writes of its handler.
type subscription struct {
	driver *Driver
	group  string
	topic  string // "" before Subscribe
	log    *slog.Logger

	out       chan *message.Message
	endIntake func()          // closes out, once
	closing   context.Context // ends with Close
	stop      context.CancelFunc
	done      chan struct{} // closed when everything has ended
}

// subscriber makes the subscriber of one subscription.
func (d *Driver) subscriber(_ context.Context, group string) (message.Subscriber, error) {
	if err := checkGroup(group); err != nil {
		return nil, err
	}
	s := &subscription{
		driver: d, group: group, log: d.Logger.With(slog.String("group", group)),
		out: make(chan *message.Message), done: make(chan struct{}),
	}
	s.endIntake = sync.OnceFunc(func() { close(s.out) })
	s.closing, s.stop = context.WithCancel(context.Background())
	return s, nil
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
	s.stop()
	if s.topic != "" {
		<-s.done
	}
	return nil
}

// run runs until ctx is done or Close is called.
func (s *subscription) run(ctx context.Context) {
	intake, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	defer s.endIntake()
	failures, givenBack := 0, 0
	for {
		delivered, err := s.read(intake)
		if intake.Err() != nil {
			return
		}
		if delivered {
			givenBack = 0
		}
		var wait time.Duration
		if err != nil {
			failures++
			wait = bad.Delay(failures)
			s.log.Warn("bus: subscribing failed; trying again", slog.Int("attempt", failures), slog.Any("error", err))
		} else {
			failures = 0
			givenBack++
			wait = again.Delay(givenBack)
		}
		if backoff.Sleep(intake, wait) != nil {
			return
		}
	}
}

// read hands messages over until one has to be rolled back, or the intake ends. delivered
// reports whether any was committed.
func (s *subscription) read(intake context.Context) (delivered bool, err error) {
	// Ending this context rolls a transaction back: database/sql does so and prevents a commit.
	// Closing Watermill's subscriber would commit.
	life, rollback := context.WithCancel(context.WithoutCancel(intake))
	defer rollback()
	deadline := forever
	r := newRounds(life, s)
	pool, err := s.driver.deliveries(life)
	if err != nil {
		return false, err
	}
	inner, err := wmsql.NewSubscriber(pool, wmsql.SubscriberConfig{
		ConsumerGroup: s.group, AckDeadline: &deadline, BackoffManager: r,
		SchemaAdapter: lenient{s.driver.Dialect.Schema()}, OffsetsAdapter: s.driver.Dialect.Offsets(),
	}, r)
	if err != nil {
		return false, err
	}
	in, err := inner.Subscribe(life, s.topic)
	if err != nil {
		return false, err
	}
	defer func() {
		rollback()
		inner.Close() //nolint:errcheck // it returns nil
	}()
	for {
		select {
		case <-intake.Done():
			return delivered, nil
		case m := <-in:
			if !s.handOver(intake, m, r) {
				return delivered, nil
			}
			delivered = true
		}
	}
}

// handOver gives a message to the consumer and reports whether Watermill has to commit the
// transaction.
func (s *subscription) handOver(intake context.Context, m *message.Message, r *rounds) bool {
	d := newDelivery(m)
	defer d.cancel()
	select {
	case s.out <- d.msg:
	case <-intake.Done():
		return false
	}
	if !s.acknowledged(intake, d) || d.lost() {
		return false // its transaction has ended, or has to be rolled back
	}
	ending := r.ending()
	m.Ack()
	timeout, closing := time.After(opTimeout), s.closing.Done()
	for {
		select {
		case committed := <-ending:
			if committed {
				d.committed()
			} else {
				s.log.Warn("bus: a transaction was not committed; its message is delivered again", eventlog.Message(m))
			}
			return true
		case <-closing:
			timeout, closing = time.After(commitTimeout), nil
		case <-timeout:
			s.log.Warn("bus: a transaction could not be committed in time; its message is delivered again", eventlog.Message(m))
			return false
		}
	}
}

// acknowledged waits for the answer to a message. After the end of the intake the answer still
// counts, until Close.
func (s *subscription) acknowledged(intake context.Context, d *delivery) bool {
	ended := intake.Done()
	for {
		select {
		case <-d.msg.Acked():
			return true
		case <-d.msg.Nacked():
			return false
		case <-ended:
			ended = nil
			s.endIntake()
		case <-s.closing.Done():
			// An acknowledgement made before counts, seen or not.
			select {
			case <-d.msg.Acked():
				return true
			default:
				return false
			}
		}
	}
}
