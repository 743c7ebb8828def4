package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/otelmsg"
	"github.com/millrace-go/millrace/internal/parallel"
)

// RunnerConfig configures a [Runner]. The zero value works.
type RunnerConfig struct {
	// DrainTimeout is how long handlers may run on after the context of Run was cancelled; 30 s
	// by default. Then their contexts are cancelled.
	DrainTimeout time.Duration
	// Logger is slog.Default() when nil. Payloads are never logged.
	Logger *slog.Logger
	// WorkerID is written into dead letters; host name and process id by default.
	WorkerID string
	// DeadLetterRetention is how long dead letters are kept, where the transport keeps messages
	// for a time; 7 days by default. A negative value leaves the retention of the topics
	// unchanged.
	DeadLetterRetention time.Duration
	// TracerProvider makes a "process" span for each delivery of a message, and for each batch,
	// and a "send" span for each dead letter; no spans when nil. The cost is decoding each event
	// once more.
	TracerProvider trace.TracerProvider
	// Hooks are called for every consumer, after the consumer's own hooks. Use them for metrics
	// of all consumers, such as those of metrics.NewBus.
	Hooks Hooks
}

// Runner runs consumers on one bus. Make it, add consumers, and run it once.
type Runner struct {
	bus     *Bus
	cfg     RunnerConfig
	running chan struct{}

	mu        sync.Mutex
	started   bool
	consumers []*consumer
	pairs     []*pair
}

// NewRunner makes a Runner. The caller closes the bus.
func NewRunner(b *Bus, cfg RunnerConfig) (*Runner, error) {
	if b == nil {
		return nil, errors.New("bus: NewRunner: bus is nil; open one with bus.Open")
	}
	if cfg.DrainTimeout < 0 {
		return nil, fmt.Errorf("bus: DrainTimeout is %s; give a positive duration, or 0 for the default 30s", cfg.DrainTimeout)
	}
	cfg.DrainTimeout = cmp.Or(cfg.DrainTimeout, 30*time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.WorkerID == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		cfg.WorkerID = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	switch {
	case cfg.DeadLetterRetention == 0:
		cfg.DeadLetterRetention = 7 * 24 * time.Hour
	case cfg.DeadLetterRetention < 0:
		cfg.DeadLetterRetention = 0
	}
	return &Runner{bus: b, cfg: cfg, running: make(chan struct{})}, nil
}

// Add adds a consumer. It fails when a required field is missing, when the Runner already has
// this topic and group, or when it was started.
func (r *Runner) Add(c AnyConsumer) error {
	if c == nil {
		return errors.New("bus: add: the consumer is nil; give a Consumer, a BatchConsumer or a Pair")
	}
	pl, err := c.plan()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started {
		return errRunning
	}
	for _, added := range pl.consumers {
		if err := r.fits(added); err != nil {
			return err
		}
	}
	for _, added := range pl.consumers {
		added.workerID = r.cfg.WorkerID
		added.publisher = r.publisher()
		added.tracer = otelmsg.New(r.cfg.TracerProvider, "bus", r.bus.System())
		added.Hooks = added.Hooks.and(r.cfg.Hooks)
		added.log = r.cfg.Logger.With("topic", added.Topic, "group", added.Group)
	}
	r.consumers = append(r.consumers, pl.consumers...)
	if pl.pair != nil {
		r.pairs = append(r.pairs, pl.pair)
	}
	return nil
}

// publisher returns the publisher for dead letters.
func (r *Runner) publisher() message.Publisher {
	if r.cfg.TracerProvider == nil {
		return r.bus.Publisher()
	}
	traced, _ := NewTracedPublisher(r.bus.Publisher(), r.cfg.TracerProvider, r.bus.System()) // with a publisher it cannot fail
	return traced
}

// fits returns an error if c cannot run beside the consumers added before.
func (r *Runner) fits(c *consumer) error {
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
	return nil
}

// Running returns a channel that is closed once all consumers have subscribed.
func (r *Runner) Running() <-chan struct{} { return r.running }

// Status returns the status of each consumer, in the order they were added.
func (r *Runner) Status() []ConsumerStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]ConsumerStatus, len(r.consumers))
	for i, c := range r.consumers {
		all[i] = c.status()
	}
	return all
}

// Run declares the topics, groups and dead letter topics of all consumers (dead letter topics
// with the group [driver.RedriveGroup], so that no dead letter is published before the group exists).
// Then it subscribes and handles messages until ctx is cancelled, and shuts down in this order:
// no more messages are handed out; handlers finish, for at most DrainTimeout; the transport
// commits the acknowledgements; the contexts of handlers that are still at work are cancelled.
// Run waits for every handler to return, so a handler that ignores its context delays it.
//
// While the transport's server is absent, Run waits: it retries with a backoff of at most 30 s
// and logs a warning at each try. The wait ends with ctx. An error of another class, such as a
// topic name that the transport refuses, ends Run.
//
// Run returns nil after an orderly shutdown. It returns an error when it could not start, or
// when the transport ended a subscription by itself; then all other consumers are shut down in
// order as well. It returns [ErrClosed] when the bus is closed while it runs.
func (r *Runner) Run(ctx context.Context) error {
	r.mu.Lock()
	if r.started {
		r.mu.Unlock()
		return errRunning
	}
	r.started = true
	consumers := r.consumers
	r.mu.Unlock()

	err := await(ctx, r.cfg.Logger.With("transport", r.bus.Name()), "declare the topics", func() error {
		return r.bus.Declare(ctx, topicsOf(consumers, r.cfg.DeadLetterRetention)...)
	})
	if err != nil {
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
	// ctx tells when to stop handing out; dispatchers do not pass its end on to messages that
	// are out.
	intake, stopIntake := context.WithCancel(ctx)
	defer stopIntake()

	dispatchers := make([]*dispatcher, 0, len(consumers))
	lost := make(chan error, len(consumers))
	for _, c := range consumers {
		c.lost = lost
		if !c.batch.on() {
			c.chain = r.chain(c)
		}
		d, err := r.bus.dispatcher(SubscriberConfig{
			Concurrency: c.Concurrency, Window: c.Window, DrainTimeout: r.cfg.DrainTimeout, Logger: r.cfg.Logger,
		}, c)
		if err == nil {
			dispatchers = append(dispatchers, d)
			_, err = d.subscribe(intake, c.Topic)
		}
		if err != nil {
			if ctx.Err() != nil {
				err = nil // stopped before it had started
			} else {
				err = fmt.Errorf("bus: run: consumer %s of %s: %w", c.Group, c.Topic, err)
			}
			stopIntake()
			err = errors.Join(err, closeAll(dispatchers))
			waitAll(dispatchers) // earlier consumers may be at work already
			return err
		}
	}

	watched := r.watch(intake)
	for _, c := range consumers {
		c.running.Store(true)
	}
	close(r.running)

	var err error
	select {
	case <-ctx.Done():
	case err = <-lost:
	case <-dispatchers[0].closing.Done(): // Bus.Close closes all of them
		if ctx.Err() == nil {
			err = fmt.Errorf("bus: run: %w", ErrClosed)
		}
	}
	stopIntake()
	watched.Wait()
	err = errors.Join(err, closeAll(dispatchers))
	r.warnOfStragglers(consumers)
	waitAll(dispatchers)
	for _, c := range consumers {
		c.running.Store(false)
	}
	return err
}

// chain wraps the consumer's handler in its middleware and the transport's wrapper.
func (r *Runner) chain(c *consumer) message.HandlerFunc {
	handle := func(m *message.Message) ([]*message.Message, error) { return nil, c.Handler(m) }
	for _, around := range slices.Backward(c.Middleware) {
		handle = around(handle)
	}
	if w, ok := r.bus.driver.(driver.HandlerWrapper); ok {
		handle = w.WrapHandler(handle)
	}
	return handle
}

// watch runs the pairs until ctx is cancelled. Pairs without a lag monitor share one.
func (r *Runner) watch(ctx context.Context) *sync.WaitGroup {
	var wg sync.WaitGroup
	var own *LagMonitor
	for _, p := range r.pairs {
		if p.lag == nil {
			if own == nil {
				own, _ = NewLagMonitor(r.bus, LagMonitorConfig{Logger: r.cfg.Logger}) // the zero value is valid
				wg.Go(func() { own.Run(ctx) })                                        //nolint:errcheck // it returns nil
			}
			p.lag = own
		}
		wg.Go(func() { p.run(ctx) })
	}
	return &wg
}

// warnOfStragglers logs the consumers whose handlers are still at work after their contexts were
// cancelled: they delay the end of the process.
func (r *Runner) warnOfStragglers(consumers []*consumer) {
	for _, c := range consumers {
		if n := c.atWork.Load(); n > 0 {
			c.log.Warn("handlers are still at work after the drain timeout", "handlers", n)
		}
	}
}

// waitAll waits for every handler to return.
func waitAll(dispatchers []*dispatcher) {
	for _, d := range dispatchers {
		d.workers.Wait()
	}
}

// closeAll closes the dispatchers at the same time, so that their drain
// timeouts run together.
func closeAll(dispatchers []*dispatcher) error {
	return parallel.Each(dispatchers, (*dispatcher).Close)
}
