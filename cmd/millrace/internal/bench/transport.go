package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/event"
)

// TransportResult is how fast a transport was. Values that were not measured are 0, or null.
type TransportResult struct {
	RoundTrip *Latency `json:"roundTrip"` // from before Publish to the handler, one at a time
	Published int64    `json:"published"`
	PublishPS float64  `json:"publishPerSecond"`
	Handled   int64    `json:"handled"`
	HandlePS  float64  `json:"handlePerSecond"`
}

// Transport measures the transport of a URL. With an error, the result holds the
// measurements before it.
func Transport(ctx context.Context, rawURL string, cfg Config) (r TransportResult, err error) {
	if err := cfg.Validate(); err != nil {
		return r, err
	}
	cfg = cfg.withDefaults()
	make, err := cfg.inBroker(rawURL)
	if err != nil {
		return r, err
	}
	err = cfg.in(ctx, make, func(ctx context.Context, p *place) error {
		b, err := bus.Open(ctx, p.url, schemes(cfg.Logger)...)
		if err != nil {
			return err
		}
		return errors.Join(cfg.carry(ctx, b, p.url, &r), b.Close())
	})
	return r, err
}

func schemes(log *slog.Logger) []bus.Scheme {
	return allbus.Schemes(allbus.Config{Kafka: kafkabus.Config{ClientID: "millrace-bench"}, Logger: log})
}

// carry measures an opened transport with one group of handlers, which runs from the
// beginning to the end.
func (c Config) carry(ctx context.Context, b *bus.Bus, inside string, r *TransportResult) error {
	topic := bus.Topic{Name: c.Name, Groups: []string{c.Name}, Partitions: lanes}
	if strings.Contains(inside, "mode=tx") {
		topic.Partitions = 0 // has none
	}
	if err := b.Declare(ctx, topic); err != nil {
		return err
	}
	// After an interruption it does not wait for messages in flight: the topic is deleted.
	sub, err := b.Subscriber(c.Name, bus.SubscriberConfig{Concurrency: 4 * c.Callers, DrainTimeout: time.Second})
	if err != nil {
		return err
	}
	// The subscription outlives an interruption, and ends by Close.
	messages, err := sub.Subscribe(context.WithoutCancel(ctx), c.Name)
	if err != nil {
		return errors.Join(err, sub.Close())
	}
	h := &handler{published: &sync.Map{}, arrived: make(chan struct{}, maxMessages+1)}
	var handlers sync.WaitGroup
	for range 4 * c.Callers {
		handlers.Go(func() { h.run(messages) })
	}
	err = c.trip(ctx, b.Publisher(), h, r)
	if err == nil {
		err = c.flood(ctx, b.Publisher(), h, r)
	}
	err = errors.Join(err, sub.Close())
	handlers.Wait()
	return err
}

// handler acknowledges messages, and counts them.
type handler struct {
	published *sync.Map // id -> when, for messages sent one by one
	latency   latencies
	handled   atomic.Int64
	arrived   chan struct{}
}

func (h *handler) run(messages <-chan *message.Message) {
	for m := range messages {
		if at, ok := h.published.LoadAndDelete(m.UUID); ok {
			h.latency.add(time.Since(at.(time.Time)))
		}
		h.handled.Add(1)
		m.Ack()
		select {
		case h.arrived <- struct{}{}:
		default: // delivered more than once; enough are counted
		}
	}
}

// trip sends messages one by one.
func (c Config) trip(ctx context.Context, pub message.Publisher, h *handler, r *TransportResult) error {
	// The first message waits until the group has its place, which is not measured.
	c.Step("waiting for the first message")
	if err := pub.Publish(c.Name, c.message(0)); err != nil {
		return err
	}
	if err := receive(ctx, h.arrived, 1, time.Minute); err != nil {
		return err
	}
	c.Step("sending messages one by one")
	n := 0
	sent, err := c.steadily(ctx, func(context.Context) error {
		n++
		m := c.message(n)
		h.published.Store(m.UUID, time.Now())
		return pub.Publish(c.Name, m)
	})
	if err == nil {
		err = receive(ctx, h.arrived, sent, c.Window)
	}
	r.RoundTrip = h.latency.report()
	return err
}

const perCall = 100

// flood publishes as fast as possible for the window, and waits for as long again and a
// half, three windows in all, until everything is handled.
func (c Config) flood(ctx context.Context, pub message.Publisher, h *handler, r *TransportResult) error {
	c.Step("publishing and handling as fast as it goes")
	before, start := h.handled.Load(), time.Now()
	end := start.Add(c.Window)
	var n atomic.Int64
	callers, publishing := errgroup.WithContext(ctx)
	for i := range c.Callers {
		callers.Go(func() error {
			for time.Now().Before(end) && n.Load() < maxMessages-int64(c.Callers)*perCall && publishing.Err() == nil {
				batch := make([]*message.Message, perCall)
				for j := range batch {
					batch[j] = c.message(i*perCall + j)
				}
				if err := pub.Publish(c.Name, batch...); err != nil {
					return err
				}
				c.Progress(fmt.Sprintf("%d messages published, %d handled", n.Add(perCall), h.handled.Load()-before))
			}
			return nil
		})
	}
	failed := callers.Wait()
	r.Published, r.PublishPS = n.Load(), perSecond(n.Load(), time.Since(start))
	err := errors.Join(ctx.Err(), failed)
	if err == nil {
		rest, cancel := context.WithDeadline(ctx, start.Add(3*c.Window))
		defer cancel()
		for rest.Err() == nil && h.handled.Load()-before < r.Published {
			select {
			case <-h.arrived:
				c.Progress(fmt.Sprintf("%d of %d messages handled", h.handled.Load()-before, r.Published))
			case <-rest.Done():
			}
		}
		err = ctx.Err()
	}
	r.Handled = min(h.handled.Load()-before, r.Published)
	r.HandlePS = perSecond(r.Handled, time.Since(start))
	return err
}

// message is the n-th message, of one of the keys in turn.
func (c Config) message(n int) *message.Message {
	m := message.NewMessage(watermill.NewUUID(), message.Payload(strings.Repeat("x", c.Size)))
	m.Metadata.Set(event.KeyHeader, strconv.Itoa(n%keys))
	return m
}
