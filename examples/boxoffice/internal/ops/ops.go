package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/stats"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/sse"
)

// Consumer names a consumer group on a topic, and its dead letter topic.
type Consumer struct {
	Topic, Group, DeadLetters string
	// Apart has the consumer reported and left out of the books: messages that wait for it
	// are no unrest, and dead letters that only such consumers have break no rule.
	Apart bool
}

func (c Consumer) id() [2]string { return [2]string{c.Topic, c.Group} }

// Config of [Ops]. Store, Stats, Outbox, Published, Bus, Gateway and Consumers are
// required; Status, Executor and Duplicates are nil in processes that run no consumers.
type Config struct {
	Store     *store.Store
	Stats     *stats.Stats
	Outbox    driver.Inspector
	Bus       *bus.Bus
	Gateway   *payment.Gateway
	Consumers []Consumer
	Status    func() []bus.ConsumerStatus
	Executor  func() payment.ExecutorStatus
	// Duplicates counts the messages that a consumer of this process skipped,
	// because it had handled them before.
	Duplicates func(Consumer) int64
	// Published counts the events that the relays published.
	Published *Published
	// Budget is the budget of the artists' upstream; nil leaves it out of reports.
	Budget *BudgetConfig
	// Rooms are the waiting rooms of the shows; nil leaves them out of reports.
	Rooms *RoomsConfig
	// Streams are the live streams of this process, an [sse.Hub]'s; nil leaves them
	// out of reports.
	Streams func() sse.Stats
	// Chat returns the figures of this process's chat; nil leaves them out of reports.
	Chat func() chat.Stats
	// PaymentLimit is how long a payment or refund may be in flight, and keep its seats after their
	// hold; 2 min when zero.
	PaymentLimit time.Duration
	// Every is how often the transport is asked in the background, 5 s when zero.
	// That costs it a query per group and one per topic with dead letters, or a
	// round trip to the broker.
	Every time.Duration
	// PassTime is how long one call of RedriveDeadLetters or DropDeadLetters may take
	// before it returns its progress, 15 s when zero: less than the server gives a
	// request.
	PassTime time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) validate() error {
	if c.Store == nil || c.Stats == nil || c.Outbox == nil || c.Published == nil || c.Bus == nil || c.Gateway == nil || len(c.Consumers) == 0 {
		return errors.New("ops: Config is not complete: Store, Stats, Outbox, Published, Bus, Gateway and Consumers are required")
	}
	if c.Every < 0 {
		return fmt.Errorf("ops: Config.Every is %s; give a positive duration, or 0 for 5 s", c.Every)
	}
	return nil
}

// defaults sets what was left out.
func (c *Config) defaults() {
	c.PaymentLimit = cmp.Or(c.PaymentLimit, 2*time.Minute)
	c.Every = cmp.Or(c.Every, 5*time.Second)
	c.PassTime = cmp.Or(c.PassTime, 15*time.Second)
}

// Ops answers an operator's questions: by the transport's last answer, and in methods
// with "Now" by its current one. It is put together of its parts here, which have the
// methods. It is safe for concurrent use.
type Ops struct {
	*Reports
	*Books
	*Letters
	*ConsumerGroups
	*Metrics

	lags *bus.LagMonitor
}

// New makes an Ops; Run keeps its figures fresh. It does no I/O.
func New(cfg Config) (*Ops, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.defaults()
	lags, err := bus.NewLagMonitor(cfg.Bus, bus.LagMonitorConfig{Every: cfg.Every, Logger: cfg.Logger})
	if err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	o := &Ops{ConsumerGroups: &ConsumerGroups{cfg.Bus, cfg.Consumers}, lags: lags}
	asked := &attention{}
	if o.Letters, err = newLetters(cfg, lags, asked); err != nil {
		return nil, err
	}
	flows := &traffic{outbox: cfg.Outbox, bus: cfg.Bus, consumers: cfg.Consumers, lags: lags, letters: o.Letters}
	if o.Books, err = newBooks(cfg, flows); err != nil {
		return nil, err
	}
	if o.Reports, err = newReports(cfg, flows, asked); err != nil {
		return nil, err
	}
	if o.Metrics, err = newMetrics(cfg, lags, o.Letters); err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	return o, nil
}

// Lags is the transport's last answer about every group, as Run keeps it.
func (o *Ops) Lags() *bus.LagMonitor { return o.lags }

// Run keeps the last answers of the transport, the outbox and the waiting rooms in memory until ctx
// ends: lags, dead letters and the backlog every Config.Every, an audit while the last one is asked
// for, and the rooms every second while reports are asked for. A request for these values never
// waits for a server.
func (o *Ops) Run(ctx context.Context) error {
	var parts sync.WaitGroup
	parts.Go(func() { o.monitor.Run(ctx) }) //nolint:errcheck // returns nil
	parts.Go(func() { o.Letters.Run(ctx) })
	parts.Go(func() { o.Books.Run(ctx) })
	if o.rooms != nil {
		parts.Go(func() { o.rooms.Run(ctx) })
	}
	err := o.lags.Run(ctx)
	parts.Wait()
	return err
}
