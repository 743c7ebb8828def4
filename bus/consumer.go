package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/otelmsg"
)

// Consumer is a topic, a group, a handler and a policy. Only Topic, Group and one of
// Handler and Guarded are required.
type Consumer struct {
	Topic   string
	Group   string
	Handler message.NoPublishHandlerFunc // see [Handle] and [ByType]
	// Guarded replaces Handler where each event must have one effect: it is an event handler
	// behind a guard. Handle and ByType of idempotency.Guard make one.
	Guarded interface {
		// Group is the consumer group whose effects the guard records. [Runner.Add] refuses a
		// consumer of another group.
		Group() string
		// Handles reports whether events of the type have a handler; others are ignored.
		Handles(eventType string) bool
		// HandleEvent handles an event of a type that Handles reports.
		HandleEvent(ctx context.Context, e event.Event) error
	}

	// Middleware wraps the handler, the first outermost. It runs for every attempt; retry,
	// recovery and dead letters lie outside it.
	Middleware []message.HandlerMiddleware
	// Concurrency is how many keys are handled in parallel; 8 by default.
	Concurrency int
	// Window is how many messages are held unacknowledged; see [SubscriberConfig].
	Window int
	// Timeout ends the context of a handler that takes longer, with the cause
	// [ErrHandlerTimeout]; the failure is transient. 0, the default, means no timeout. A handler
	// that runs on for 5 s more is logged with its key and age, and counted in
	// ConsumerStatus.Overdue.
	Timeout time.Duration
	// Retry is [DefaultRetry] when zero.
	Retry RetryPolicy
	// DeadLetter is the topic of dead letters; Topic with ".DLT" when empty. Other usual names are
	// "dlq.payment" for all topics of a domain, and "mail_dlq" for the queue "mail_queue".
	DeadLetter string
	// Classifiers judge errors that carry no class, usually a database driver's.
	Classifiers []fault.Classifier
	// Current returns the newest sequence of a key (event.Event.Key). The consumer acknowledges an
	// event with a lower Sequence without handling it, counts it, and calls Hooks.OnObsolete.
	// Current is not called for an event without a Sequence. A message that is not an event goes to
	// the handler.
	//
	// Current is called before the middleware, for every attempt, and may be called from many
	// goroutines. If it returns an error, the message fails, and the error is classified like one
	// of the handler.
	Current func(ctx context.Context, key string) (uint64, error)
	Hooks   Hooks
}

// AnyConsumer is anything that a [Runner] can run: a [Consumer], a [BatchConsumer] or a [Pair]
// of them.
type AnyConsumer interface {
	plan() (plan, error)
}

// plan is an AnyConsumer in the form in which a Runner runs it.
type plan struct {
	consumers []*consumer
	pair      *pair
}

func (c Consumer) plan() (plan, error) {
	if err := c.validate(); err != nil {
		return plan{}, err
	}
	switch {
	case c.Handler == nil && c.Guarded == nil:
		return plan{}, fmt.Errorf("bus: consumer %s of %s: Handler is nil; use bus.Handle or bus.ByType, or Guarded with the handler of a guard", c.Group, c.Topic)
	case c.Handler != nil && c.Guarded != nil:
		return plan{}, fmt.Errorf("bus: consumer %s of %s: Handler and Guarded are both set; give one of them", c.Group, c.Topic)
	case c.Guarded != nil:
		if err := sameGroup(c.Topic, c.Group, c.Guarded); err != nil {
			return plan{}, err
		}
		c.Handler = onlyTypes(c.Guarded.Handles, c.Guarded.HandleEvent)
	}
	return plan{consumers: []*consumer{newConsumer(c)}}, nil
}

// newConsumer makes the part that both kinds of consumers share.
func newConsumer(c Consumer) *consumer {
	return &consumer{Consumer: c, overdue: map[*overdue]struct{}{}, retry: c.Retry.withDefaults(), deadLetterTopic: cmp.Or(c.DeadLetter, c.Topic+".DLT")}
}

// validate checks all fields except the handler.
func (c Consumer) validate() error {
	switch {
	case c.Topic == "":
		return errors.New("bus: consumer: Topic is empty")
	case c.Group == "":
		return fmt.Errorf("bus: consumer of %s: Group is empty; name the consumer group", c.Topic)
	}
	problem := cmp.Or(c.Retry.validate(), SubscriberConfig{Concurrency: c.Concurrency, Window: c.Window}.validate())
	switch {
	case c.DeadLetter == c.Topic:
		problem = errors.New("DeadLetter names the consumer's own topic; its dead letters would come back for ever")
	case c.Timeout < 0:
		problem = fmt.Errorf("Timeout is %s; give a positive duration, or 0 for no bound", c.Timeout)
	}
	if problem != nil {
		return fmt.Errorf("bus: consumer %s of %s: %w", c.Group, c.Topic, problem)
	}
	return nil
}

// consumer is a Consumer or BatchConsumer inside a Runner. The zero consumer is that of a
// [Bus.Subscriber]: it has no handler.
type consumer struct {
	Consumer
	chain           message.HandlerFunc // Handler with its middleware
	handleBatch     func(ctx context.Context, messages []*message.Message) error
	batch           batching
	gate            *gate // set in the low half of a Pair
	retry           RetryPolicy
	deadLetterTopic string
	workerID        string
	publisher       message.Publisher
	log             *slog.Logger
	tracer          *otelmsg.Tracer // nil when no spans are made
	lost            chan<- error    // has room for one error per consumer

	running      atomic.Bool
	paused       atomic.Bool
	inFlight     atomic.Int64 // handed out and not yet settled
	atWork       atomic.Int64 // handlers that have not returned
	handled      atomic.Int64
	retried      atomic.Int64
	deadLettered atomic.Int64
	obsolete     atomic.Int64
	ignored      atomic.Int64
	batches      atomic.Int64
	pauses       atomic.Int64

	mu        sync.Mutex
	lastError string
	overdue   map[*overdue]struct{}
	unhandled map[string]bool // types that were ignored, as far as they were logged
}

// onChannel reports whether messages are handed out on a channel, because there is no handler.
func (c *consumer) onChannel() bool { return c.chain == nil && c.handleBatch == nil }

// sourceEnded reports that the transport has ended the subscription.
func (c *consumer) sourceEnded(err error) {
	if c.lost != nil {
		c.lost <- fmt.Errorf("bus: run: consumer %s of %s: %w: %w", c.Group, c.Topic, errSubscriptionLost, err)
	}
}

// The subscription calls the next three with its mu held.

func (c *consumer) pauseBegan(err error, delay time.Duration) {
	c.pauses.Add(1)
	c.log.Warn("consumer paused, a dependency is down", "probe_in", delay, "error", err)
	if f := c.Hooks.OnPause; f != nil {
		f(Report{Topic: c.Topic, Group: c.Group, Err: err, Delay: delay})
	}
}

// stillDown reports an infrastructure failure of a probe or a suspect.
func (c *consumer) stillDown(d *delivery, delay time.Duration) {
	c.retried.Add(1)
	text := "consumer stays paused"
	if !c.paused.Load() {
		text = "message fails for a dependency while others get through; its key waits"
	}
	c.log.Warn(text, eventlog.Message(d.source), "next_in", delay, "error", d.err)
	if f := c.Hooks.OnRetry; f != nil {
		f(Report{
			Topic: c.Topic, Group: c.Group, Message: d.source.Copy(),
			Err: d.err, Class: fault.Infrastructure, Attempts: d.attempts, Delay: delay,
		})
	}
}

func (c *consumer) pauseEnded(after time.Duration) {
	c.log.Info("consumer resumed", "paused_for", after)
	if f := c.Hooks.OnResume; f != nil {
		f(Report{Topic: c.Topic, Group: c.Group, Took: after})
	}
}
