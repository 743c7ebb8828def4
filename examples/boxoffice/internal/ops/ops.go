package ops

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/stats"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/outbox/driver"
	ratelimitdriver "github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/sse"
)

//go:embed sql/checks.sql
var checksSQL string

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
	// Every is how often the transport is asked in the background, 5 s when zero.
	// That costs it a query per group and one per topic with dead letters, or a
	// round trip to the broker.
	Every time.Duration
	// PassTime is how long one call of RedriveDeadLetters or DropDeadLetters may take
	// before it returns its progress, 15 s when zero: less than the server gives a
	// request.
	PassTime time.Duration
	// HoldGrace is how long after its end a hold may still be PENDING, 30 s when zero;
	// OpenFor how long a payment or refund may be in flight, 2 min when zero.
	HoldGrace, OpenFor time.Duration
	// CountGrace is how long after the last comment on a show its count may be
	// wrong, 30 s when zero.
	CountGrace time.Duration
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

type statements struct {
	SoldSeats, SeatSoldOnce, HeldSeats, Money, Statistics, HandledOnce, NothingLost, NothingStuck string
	CommentCounts, ChatPlaces                                                                     string
	Moving, Balance, Payments                                                                     string
}

// Ops answers an operator's questions: by the transport's last answer, and in methods
// with "Now" by its current one. It is safe for concurrent use.
type Ops struct {
	cfg     Config
	sql     statements
	topics  []string        // of dead letters
	apart   map[string]bool // those of them that are no part of the books
	letters map[string]*letters
	lags    *bus.LagMonitor
	plan    *ratelimitdriver.Plan // of the budget; nil without one
	rooms   *rooms                // nil without waiting rooms
	books   *books
	metrics exported
	look    chan struct{} // the letters are asked for
	asked   atomic.Int64  // when that was last, in Unix nanoseconds
	made    time.Time

	mu      sync.Mutex // one audit at a time
	last    Audit
	lastErr error
	began   time.Time
}

// New makes an Ops; Run keeps its figures fresh. It does no I/O.
func New(cfg Config) (*Ops, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.HoldGrace == 0 {
		cfg.HoldGrace = 30 * time.Second
	}
	if cfg.OpenFor == 0 {
		cfg.OpenFor = 2 * time.Minute
	}
	if cfg.CountGrace == 0 {
		cfg.CountGrace = 30 * time.Second
	}
	if cfg.Every == 0 {
		cfg.Every = 5 * time.Second
	}
	if cfg.PassTime == 0 {
		cfg.PassTime = 15 * time.Second
	}
	lags, err := bus.NewLagMonitor(cfg.Bus, bus.LagMonitorConfig{Every: cfg.Every, Logger: cfg.Logger})
	if err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	o := &Ops{
		cfg: cfg, topics: deadLetterTopics(cfg.Consumers), apart: apartTopics(cfg.Consumers), letters: map[string]*letters{},
		lags: lags, books: newBooks(), look: make(chan struct{}, 1), made: time.Now(),
	}
	if cfg.Budget != nil {
		if o.plan, err = cfg.Budget.validate(cfg.Consumers); err != nil {
			return nil, err
		}
	}
	if cfg.Rooms != nil {
		if err := cfg.Rooms.validate(); err != nil {
			return nil, err
		}
		o.rooms = newRooms(cfg.Rooms)
	}
	for _, topic := range o.topics {
		l, err := redrive.New(cfg.Bus, topic, redrive.Config{Window: maxDeadSeen})
		if err != nil {
			return nil, fmt.Errorf("ops: %w", err)
		}
		o.letters[topic] = &letters{Letters: l}
	}
	if o.metrics, err = o.newMetrics(cfg.Logger); err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	if err := cfg.Store.Load(checksSQL, &o.sql); err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	return o, nil
}

// Lags is the transport's last answer about every group, as Run keeps it.
func (o *Ops) Lags() *bus.LagMonitor { return o.lags }

// Check is one rule and its breaches.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Audit is the outcome of all checks. Quiescent reports that nothing was in flight
// while they were made.
type Audit struct {
	OK        bool    `json:"ok"`
	Quiescent bool    `json:"quiescent"`
	Checks    []Check `json:"checks"`
}

// InvariantsNow is AuditNow for the API.
func (o *Ops) InvariantsNow(ctx context.Context) (any, error) { return o.AuditNow(ctx) }

// AuditNow checks the books, and asks the transport for it: its answer is of a moment
// after the call. Calls that arrive while an audit runs share the next one.
func (o *Ops) AuditNow(ctx context.Context) (Audit, error) {
	asked := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.began.After(asked) && o.lastErr == nil {
		return o.last, nil
	}
	o.began = time.Now()
	o.last, o.lastErr = o.audit(ctx)
	return o.last, o.lastErr
}

func (o *Ops) audit(ctx context.Context) (Audit, error) {
	before, err := o.flowNow(ctx)
	if err == nil && before.quiet() {
		// A message on its way from the broker to a process may be in neither count for a moment.
		before, err = o.flowNow(ctx)
	}
	if err != nil {
		return Audit{}, err
	}
	tables, err := o.tables(ctx)
	if err != nil {
		return Audit{}, err
	}
	ledger, err := o.ledger(ctx, tables.payments)
	if err != nil {
		return Audit{}, err
	}
	after, err := o.flowNow(ctx)
	if err != nil {
		return Audit{}, err
	}
	a := Audit{OK: true, Quiescent: tables.moving == 0 && before.quiet() && after.quiet()}
	a.Checks = append(append(tables.checks, ledger), after.checks()...)
	for _, c := range a.Checks {
		a.OK = a.OK && c.OK
	}
	return a, nil
}
