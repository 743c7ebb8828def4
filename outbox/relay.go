package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/otelmsg"
	"github.com/millrace-go/millrace/internal/pulse"
	"github.com/millrace-go/millrace/outbox/driver"
)

// Relay publishes the events of the outbox. Any number of relays may run, in one process or
// many: each shard is published by the relay that holds its lease, and the others stand by.
type Relay struct {
	store  driver.Store
	pub    message.Publisher
	cfg    RelayConfig
	retry  backoff.Policy
	pause  backoff.Policy
	tracer *otelmsg.Tracer // nil when no spans are made

	running atomic.Bool
	wakes   pulse.Pulse

	hearing sync.Mutex
	hearers int                // how many shards are held
	deafen  context.CancelFunc // ends listening
	ears    sync.WaitGroup

	// confirmed counts the published events of all shards: the evidence that a failing event is
	// at fault and not the publisher.
	confirmed atomic.Int64
	// cost is a moving average of the time per message in Publish, in ns.
	cost atomic.Int64
}

// NewRelay creates a relay that publishes the store's events with pub. It does no I/O. The
// publisher must be safe for concurrent use, return from Publish only when the messages are
// safe, and publish the messages of one call in order, stopping at the first that fails. The
// caller closes the publisher.
func NewRelay(store driver.Store, pub message.Publisher, cfg RelayConfig) (*Relay, error) {
	if store == nil {
		return nil, errors.New("outbox: store is nil")
	}
	if pub == nil {
		return nil, errors.New("outbox: publisher is nil")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if p, ok := store.(driver.Preferrer); ok {
		cfg = cfg.prefer(p.Prefer())
	}
	cfg = cfg.withDefaults()
	cfg.Hooks = cfg.Hooks.withDefaults()
	if cfg.Holder == "" {
		name, err := holder()
		if err != nil {
			return nil, err
		}
		cfg.Holder = name
	}
	r := &Relay{store: store, pub: pub, cfg: cfg, retry: cfg.Retry.policy(), pause: cfg.Pause.policy()}
	r.tracer = otelmsg.New(cfg.TracerProvider, "outbox", cfg.System)
	r.cost.Store(int64(time.Millisecond)) // slow until measured
	return r, nil
}

// Run publishes until ctx is done. It then finishes and settles the batch in flight, releases
// its leases and returns nil. Run waits for an unreachable database or broker. It returns the
// errors that need an operator: [driver.ErrShards], [driver.ErrForeignDatabase], a publisher that
// does not return from Publish, or a store that did not accept the settlement within the
// ShutdownTimeout.
func (r *Relay) Run(ctx context.Context) error { return r.run(ctx, false) }

// Drain publishes until every shard is empty, except for parked events, and returns. It takes
// the same leases as Run, and waits while other relays hold them, so use it when no other relay
// publishes.
func (r *Relay) Drain(ctx context.Context) error {
	if err := r.run(ctx, true); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("outbox: drain: %w", err)
	}
	return nil
}

func (r *Relay) run(ctx context.Context, drain bool) error {
	if !r.running.CompareAndSwap(false, true) {
		return errRunning
	}
	defer r.running.Store(false)

	n, err := r.shards(ctx)
	if err != nil || n == 0 {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	sideCtx, stopSide := context.WithCancel(ctx)
	defer stopSide()

	var side sync.WaitGroup
	if s, ok := r.store.(driver.Signal); ok {
		wakes, cancel := s.Subscribe()
		defer cancel()
		side.Go(func() { r.forward(sideCtx, wakes) })
	}

	slots := make(chan struct{}, n)
	if r.cfg.MaxShards > 0 {
		slots = make(chan struct{}, min(n, r.cfg.MaxShards))
	}
	var shards sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		shards.Go(func() {
			if errs[i] = newShard(r, i, slots, drain).run(ctx); errs[i] != nil {
				stop() // this needs an operator; the other shards end in order
			}
		})
	}
	shards.Wait()
	stopSide()
	side.Wait()
	r.ears.Wait()
	return errors.Join(errs...)
}

// shards queries the store until it answers; 0 means that ctx ended first.
func (r *Relay) shards(ctx context.Context) (int, error) {
	report := newReporter(r.cfg.Logger)
	for attempt := 1; ; attempt++ {
		call, cancel := r.call(ctx)
		n, err := r.store.Shards(call)
		cancel()
		if err == nil || errors.Is(err, driver.ErrShards) {
			return n, err
		}
		if ctx.Err() != nil {
			return 0, nil
		}
		report.failing("outbox: the store does not answer; trying again", "error", err)
		if backoff.Sleep(ctx, r.pause.Delay(attempt)) != nil {
			return 0, nil
		}
	}
}

// call bounds one call of the store: a hanging connection must not block the relay for ever.
func (r *Relay) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, max(r.cfg.LeaseTTL, 5*time.Second))
}

func (r *Relay) forward(ctx context.Context, wakes <-chan struct{}) {
	for {
		select {
		case <-wakes:
			r.wakes.Wake()
		case <-ctx.Done():
			return
		}
	}
}

// hear listens until the last of the returned functions is called. Only shards that are held
// hear: a database tells every listener of each notification, and those that stand by have no use
// for it.
func (r *Relay) hear(ctx context.Context) (stop func()) {
	s, ok := r.store.(driver.Listener)
	if !ok {
		return func() {}
	}
	r.hearing.Lock()
	defer r.hearing.Unlock()
	if r.hearers++; r.hearers == 1 {
		ctx, r.deafen = context.WithCancel(ctx)
		r.ears.Go(func() { r.listen(ctx, s) })
	}
	return func() {
		r.hearing.Lock()
		defer r.hearing.Unlock()
		if r.hearers--; r.hearers == 0 {
			r.deafen()
		}
	}
}

// listen keeps listening; between two attempts the shards poll at their interval.
func (r *Relay) listen(ctx context.Context, s driver.Listener) {
	var heard atomic.Bool
	for attempt := 1; ; attempt++ {
		err := s.Listen(ctx, func() { heard.Store(true); r.wakes.Wake() })
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, driver.ErrUnsupported) {
			if errors.Is(err, driver.ErrOneConnection) || errors.Is(err, driver.ErrPooler) {
				r.cfg.Logger.Warn("outbox: no wake-ups from other processes; the interval stands in", "interval", r.cfg.Interval, "error", err)
			}
			return
		}
		if heard.Swap(false) {
			attempt = 1
		}
		r.cfg.Logger.Warn("outbox: listening for wake-ups failed; the interval stands in", "error", err)
		if backoff.Sleep(ctx, r.pause.Delay(attempt)) != nil {
			return
		}
	}
}
