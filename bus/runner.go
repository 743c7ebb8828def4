package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
)

// RunnerConfig configures a [Runner]. The zero value works.
type RunnerConfig struct {
	// DrainTimeout is how long handlers may go on after the context of Run was
	// cancelled; 30 s by default. Then their contexts are cancelled.
	DrainTimeout time.Duration
	// Logger is slog.Default() when nil. Payloads are never logged.
	Logger *slog.Logger
	// WorkerID is written into dead letters; host name and process id by default.
	WorkerID string
}

// Runner runs consumers on one bus, with one Watermill Router underneath. It is
// made, given consumers, and run once.
type Runner struct {
	bus     *Bus
	cfg     RunnerConfig
	running chan struct{}

	mu        sync.Mutex
	started   bool
	consumers []*consumer
}

// NewRunner makes a Runner. The bus stays the caller's to close.
func NewRunner(b *Bus, cfg RunnerConfig) (*Runner, error) {
	if b == nil {
		return nil, errors.New("bus: NewRunner: bus is nil; open one with an Opener")
	}
	if cfg.DrainTimeout < 0 {
		return nil, fmt.Errorf("bus: DrainTimeout is %s; give a positive duration, or 0 for the default 30s", cfg.DrainTimeout)
	}
	if cfg.DrainTimeout == 0 {
		cfg.DrainTimeout = 30 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.WorkerID == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		cfg.WorkerID = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	return &Runner{bus: b, cfg: cfg, running: make(chan struct{})}, nil
}

// Add adds a consumer. It fails when something required is missing, when the
// Runner has this topic and group already, or when it was started.
func (r *Runner) Add(c Consumer) error {
	if err := c.validate(); err != nil {
		return err
	}
	if c.DeadLetter == nil {
		c.DeadLetter = DLT()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started {
		return ErrRunning
	}
	for _, other := range r.consumers {
		if other.Topic != c.Topic {
			continue
		}
		if other.Group == c.Group {
			return fmt.Errorf("bus: the runner has a consumer %s of %s already; use another group, or one handler for both", c.Group, c.Topic)
		}
		if !r.bus.Capabilities().ConsumerGroups {
			return fmt.Errorf("bus: consumers %s and %s of %s: %s has no consumer groups; use a queue for each", other.Group, c.Group, c.Topic, r.bus.Name())
		}
	}
	r.consumers = append(r.consumers, &consumer{
		Consumer: c, retry: c.Retry.withDefaults(),
		deadLetterTopic: c.DeadLetter(c.Topic, c.Group),
		workerID:        r.cfg.WorkerID,
		publisher:       r.bus.Publisher(),
		log:             r.cfg.Logger.With("topic", c.Topic, "group", c.Group),
	})
	return nil
}

// Running is closed once all consumers have subscribed.
func (r *Runner) Running() <-chan struct{} { return r.running }

// Status says how each consumer is doing, in the order they were added.
func (r *Runner) Status() []ConsumerStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]ConsumerStatus, len(r.consumers))
	for i, c := range r.consumers {
		all[i] = c.status()
	}
	return all
}

// Run declares the topics, groups and dead letter topics of all consumers,
// subscribes, and handles messages until ctx is cancelled. Then it shuts down
// in this order: nothing more is handed out; handlers finish, for at most
// DrainTimeout; the transport commits what was acknowledged; the contexts of
// handlers that are still at work are cancelled; the Router closes. It waits
// for every handler to return, so one that ignores its context holds it up.
//
// It returns nil after an orderly shutdown, and an error when it could not
// start, or when the transport ended a subscription by itself; then all other
// consumers are shut down in order as well.
func (r *Runner) Run(ctx context.Context) error {
	r.mu.Lock()
	if r.started {
		r.mu.Unlock()
		return ErrRunning
	}
	r.started = true
	consumers := r.consumers
	r.mu.Unlock()

	if err := r.bus.Declare(ctx, topicsOf(consumers)...); err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it had started
		}
		return err
	}
	if len(consumers) == 0 {
		close(r.running)
		<-ctx.Done()
		return nil
	}
	return r.run(ctx, consumers)
}

func (r *Runner) run(ctx context.Context, consumers []*consumer) error {
	// ctx says when to stop handing out; it must not reach into what is out.
	intake, stopIntake := context.WithCancel(context.WithoutCancel(ctx))
	defer stopIntake()

	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: math.MaxInt64}, routerLogger(r.cfg.Logger))
	if err != nil {
		return fmt.Errorf("bus: run: %w", err)
	}
	dispatchers := make([]*Dispatcher, 0, len(consumers))
	handlers := make([]*message.Handler, 0, len(consumers))
	lost := make(chan *consumer, len(consumers))
	for _, c := range consumers {
		d, err := r.bus.dispatcher(c.Group, SubscriberConfig{
			Concurrency: c.Concurrency, Window: c.Window, DrainTimeout: r.cfg.DrainTimeout,
		}, c.observer(lost))
		if err == nil {
			dispatchers = append(dispatchers, d)
			var messages <-chan *message.Message
			// Subscribed here and not by the Router, which leaks a goroutine
			// when one of several subscriptions fails.
			if messages, err = d.subscribe(intake, c.Topic); err == nil {
				h := router.AddConsumerHandler(c.Topic+"/"+c.Group, c.Topic, subscribed(messages), c.Handler)
				h.AddMiddleware(c.middleware)
				h.AddMiddleware(c.Middleware...)
				handlers = append(handlers, h)
				continue
			}
		}
		stopIntake()
		return errors.Join(fmt.Errorf("bus: run: consumer %s of %s: %w", c.Group, c.Topic, err), closeAll(dispatchers))
	}

	routed := make(chan error, 1)
	go func() { routed <- router.Run(intake) }()
	<-router.Running()
	for _, c := range consumers {
		c.running.Store(true)
	}
	close(r.running)

	select {
	case <-ctx.Done():
	case c := <-lost:
		err = fmt.Errorf("bus: run: consumer %s of %s: %w", c.Group, c.Topic, ErrSubscriptionLost)
	}
	stopIntake()
	err = errors.Join(err, closeAll(dispatchers))
	r.warnOfStragglers(consumers)
	err = errors.Join(err, <-routed)
	for _, h := range handlers {
		<-h.Stopped()
	}
	for _, c := range consumers {
		c.running.Store(false)
	}
	return err
}

// warnOfStragglers says which consumers still have handlers at work after their
// contexts were cancelled: they hold up the end of the process.
func (r *Runner) warnOfStragglers(consumers []*consumer) {
	for _, c := range consumers {
		if n := c.atWork.Load(); n > 0 {
			c.log.Warn("handlers are still at work after the drain timeout", "handlers", n)
		}
	}
}

// topicsOf returns what the consumers need to exist: their topics with all
// groups, and the dead letter topics.
func topicsOf(consumers []*consumer) []Topic {
	var topics []Topic
	index := map[string]int{}
	add := func(name string) *Topic {
		i, ok := index[name]
		if !ok {
			i = len(topics)
			index[name] = i
			topics = append(topics, Topic{Name: name})
		}
		return &topics[i]
	}
	for _, c := range consumers {
		t := add(c.Topic)
		t.Groups = append(t.Groups, c.Group)
	}
	for _, c := range consumers {
		add(c.deadLetterTopic)
	}
	return topics
}

// closeAll closes the dispatchers at the same time, so that their drain
// timeouts run together.
func closeAll(dispatchers []*Dispatcher) error {
	errs := make([]error, len(dispatchers))
	var wg sync.WaitGroup
	for i, d := range dispatchers {
		wg.Go(func() { errs[i] = d.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// subscribed shows the Router a subscription that exists. The Router cannot
// close it: the order of closing is the Runner's.
type subscribed <-chan *message.Message

func (s subscribed) Subscribe(context.Context, string) (<-chan *message.Message, error) {
	return s, nil
}
func (s subscribed) Close() error { return nil }

// routerLogger shows the Router's messages one level lower than it means them:
// what it calls information are its own steps.
func routerLogger(l *slog.Logger) watermill.LoggerAdapter {
	return watermill.NewSlogLoggerWithLevelMapping(l, map[slog.Level]slog.Level{
		slog.LevelInfo:       slog.LevelDebug,
		slog.LevelDebug:      watermill.LevelTrace,
		watermill.LevelTrace: watermill.LevelTrace,
	})
}
