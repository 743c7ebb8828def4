package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
)

// SubscriberConfig configures a [Bus.Subscriber]. The zero value works.
type SubscriberConfig struct {
	// Concurrency is how many keys are handled in parallel; 8 by default. It
	// bounds the messages that are out, and the goroutines.
	Concurrency int
	// Window is how many messages are taken from the transport and not yet acknowledged, waiting
	// ones included; 1024 by default. It bounds memory, the messages that a crash redelivers,
	// and how far other keys can get ahead of a key that is being retried.
	Window int
	// Redelivery is the wait after a nack before the same message is handed out
	// again; 100 ms × 2, cap 10 s, jitter 20 % by default.
	Redelivery Backoff
	// DrainTimeout is how long Close waits for the acknowledgement of messages that are out.
	// With 0, Close does not wait: they are handed back at once.
	DrainTimeout time.Duration
	// Logger logs that Subscribe waits for a server that is absent; slog.Default() by default.
	Logger *slog.Logger
}

func (c SubscriberConfig) withDefaults() SubscriberConfig {
	c.Concurrency = cmp.Or(c.Concurrency, 8)
	c.Window = cmp.Or(c.Window, max(1024, c.Concurrency))
	c.Redelivery = cmp.Or(c.Redelivery, Backoff{Initial: 100 * time.Millisecond, Max: 10 * time.Second, Multiplier: 2, Jitter: 0.2})
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

func (c SubscriberConfig) validate() error {
	switch {
	case c.Concurrency < 0:
		return fmt.Errorf("Concurrency is %d; give at least 1, or 0 for the default 8", c.Concurrency)
	case c.Window < 0:
		return fmt.Errorf("Window is %d; give at least 1, or 0 for the default 1024", c.Window)
	case c.Window > 0 && c.Window < c.Concurrency:
		return fmt.Errorf("Window is %d, below Concurrency %d; a key in parallel needs a message in the window", c.Window, c.Concurrency)
	case c.DrainTimeout < 0:
		return fmt.Errorf("DrainTimeout is %s; give a positive duration, or 0 not to wait", c.DrainTimeout)
	}
	return c.Redelivery.validate("Redelivery")
}

// dispatcher is the subscriber of [Bus.Subscriber].
type dispatcher struct {
	bus      *Bus
	cfg      SubscriberConfig
	consumer *consumer      // runs the attempts, unless messages are handed out on a channel
	workers  sync.WaitGroup // with an attempt under way

	closing   context.Context // ends with Close: stop the intake, drain
	stop      context.CancelFunc
	closeOnce sync.Once
	err       error // of Close

	mu      sync.Mutex
	opening sync.WaitGroup // calls of Subscribe; none is added after the end of closing
	subs    map[*subscription]struct{}
}

func newDispatcher(b *Bus, cfg SubscriberConfig, c *consumer) *dispatcher {
	d := &dispatcher{bus: b, cfg: cfg, consumer: c, subs: map[*subscription]struct{}{}}
	d.closing, d.stop = context.WithCancel(context.Background())
	return d
}

// Subscribe hands out the messages of a topic. When ctx is cancelled, it hands out no more and
// closes the channel. Messages that are out can still be acknowledged; the transport's
// subscription ends with the last of them, or with Close. Subscribe waits for a server that is
// absent; see [Bus.Subscriber].
func (d *dispatcher) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if topic == "" {
		return nil, errors.New("bus: subscribe: topic is empty")
	}
	ch, err := d.subscribe(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("bus: subscribe to %s: %w", topic, err)
	}
	return ch, nil
}

func (d *dispatcher) subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	d.mu.Lock()
	if d.closing.Err() != nil {
		d.mu.Unlock()
		return nil, ErrClosed
	}
	d.opening.Add(1)
	d.mu.Unlock()
	defer d.opening.Done()

	var source driver.Source
	opening, stop := d.untilClosed(ctx)
	defer stop()
	err := await(opening, d.cfg.Logger.With("topic", topic, "group", d.consumer.Group), "subscribe", func() (err error) {
		source, err = d.tryOpen(opening, topic)
		return err
	})
	if err != nil {
		return nil, err
	}
	s := newSubscription(ctx, d, source)
	d.mu.Lock()
	d.subs[s] = struct{}{}
	d.mu.Unlock()
	go s.run(ctx)
	return s.out, nil
}

// untilClosed returns a context that ends with ctx and with Close.
func (d *dispatcher) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(d.closing, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// tryOpen opens a source. If ctx ends first, the attempt ends. An opened source ignores ctx and
// runs until the drain is over.
func (d *dispatcher) tryOpen(ctx context.Context, topic string) (driver.Source, error) {
	lasting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	source, err := d.bus.driver.Source(lasting, topic, d.consumer.Group, d.cfg.Window)
	switch {
	case err != nil:
		stop()
		cancel(nil)
		return nil, err
	case !stop(): // the source got a context that has ended
		return nil, errors.Join(context.Cause(ctx), source.Close())
	}
	return source, nil
}

// SubscribeInitialize is Watermill's request to prepare a topic. It makes the topic and the group,
// and ends with Close.
func (d *dispatcher) SubscribeInitialize(topic string) error {
	err := d.bus.driver.Declare(d.closing, Topic{Name: topic, Groups: []string{d.consumer.Group}})
	if d.closing.Err() != nil {
		err = ErrClosed
	}
	if err != nil {
		return fmt.Errorf("bus: initialize %s: %w", topic, err)
	}
	return nil
}

// Close stops the intake, closes the channels, waits up to DrainTimeout for messages that are
// out, lets the transport commit, and then cancels the contexts of messages that are still out.
// When it returns, no goroutine of the dispatcher is left. Every call returns the same error.
func (d *dispatcher) Close() error {
	d.closeOnce.Do(d.close)
	return d.err
}

func (d *dispatcher) close() {
	d.mu.Lock()
	d.stop()
	d.mu.Unlock()
	d.opening.Wait() // waits for a server end now
	d.mu.Lock()
	subs := slices.Collect(maps.Keys(d.subs))
	d.mu.Unlock()
	var errs []error
	for _, s := range subs {
		<-s.done
		errs = append(errs, s.err)
	}
	if d.consumer.onChannel() {
		d.workers.Wait() // no worker waits for an answer any more
	}
	d.bus.forget(d)
	d.err = errors.Join(errs...)
}

// forget removes a subscription that has ended.
func (d *dispatcher) forget(s *subscription) {
	d.mu.Lock()
	delete(d.subs, s)
	d.mu.Unlock()
}
