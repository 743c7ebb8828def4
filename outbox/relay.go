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
)

// Relay publishes what is in the outbox. Any number of relays may run, in one
// process or many: each shard is published by the one that holds its lease, and
// the others stand by.
type Relay struct {
	store  Store
	pub    message.Publisher
	cfg    RelayConfig
	retry  backoff.Policy
	pause  backoff.Policy
	tracer *otelmsg.Tracer // nil when no spans are made

	running atomic.Bool
	wakes   pulse.Pulse
	// confirmed counts events that got through, over all shards: the evidence
	// that a failing event is at fault and not the publisher.
	confirmed atomic.Int64
	// cost is a moving average of what one message costs in Publish, in ns.
	cost atomic.Int64
}

// NewRelay makes a relay that publishes the store's events with pub. It does no
// I/O. The publisher must be safe for concurrent use, return from Publish only
// when the messages are safe, and publish the messages of one call in order,
// stopping at the first that fails. It stays the caller's to close.
func NewRelay(store Store, pub message.Publisher, cfg RelayConfig) (*Relay, error) {
	if store == nil {
		return nil, errors.New("outbox: store is nil")
	}
	if pub == nil {
		return nil, errors.New("outbox: publisher is nil")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if p, ok := store.(Preferrer); ok {
		cfg = p.Prefer(cfg)
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

// Run publishes until ctx is done. It then finishes and settles the batch in
// flight, gives its leases up and returns nil. An unreachable database or broker
// is waited for; the errors that end it need somebody: ErrShards,
// ErrForeignDatabase, ErrRunning, or a store that would not take what was
// published within the ShutdownTimeout.
func (r *Relay) Run(ctx context.Context) error { return r.run(ctx, false) }

// Drain publishes until every shard is empty, parked events aside, and returns.
// It takes the leases that Run would take, and waits while other relays hold
// them, so it is for a time when nothing else publishes.
func (r *Relay) Drain(ctx context.Context) error {
	if err := r.run(ctx, true); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("outbox: drain: %w", err)
	}
	return nil
}

// Wake makes every shard of this relay look for events now. It never blocks.
func (r *Relay) Wake() { r.wakes.Wake() }

// Stats asks the store how its shards stand, or fails with ErrUnsupported.
func (r *Relay) Stats(ctx context.Context) ([]ShardStats, error) {
	i, ok := r.store.(Inspector)
	if !ok {
		return nil, fmt.Errorf("outbox: stats: %w", ErrUnsupported)
	}
	return i.Stats(ctx)
}

func (r *Relay) run(ctx context.Context, drain bool) error {
	if !r.running.CompareAndSwap(false, true) {
		return ErrRunning
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
	if s, ok := r.store.(Signal); ok {
		wakes, cancel := s.Subscribe()
		defer cancel()
		side.Go(func() { r.forward(sideCtx, wakes) })
	}
	if s, ok := r.store.(Listener); ok {
		side.Go(func() { r.listen(sideCtx, s) })
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
				stop() // it takes somebody to mend this; the other shards end in order
			}
		})
	}
	shards.Wait()
	stopSide()
	side.Wait()
	return errors.Join(errs...)
}

// shards asks the store until it answers; 0 means that ctx ended first.
func (r *Relay) shards(ctx context.Context) (int, error) {
	report := newReporter(r.cfg.Logger)
	for attempt := 1; ; attempt++ {
		n, err := r.store.Shards(ctx)
		if err == nil || errors.Is(err, ErrShards) {
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

func (r *Relay) forward(ctx context.Context, wakes <-chan struct{}) {
	for {
		select {
		case <-wakes:
			r.Wake()
		case <-ctx.Done():
			return
		}
	}
}

// listen keeps listening; between two tries the shards' interval stands in.
func (r *Relay) listen(ctx context.Context, s Listener) {
	var heard atomic.Bool
	for attempt := 1; ; attempt++ {
		err := s.Listen(ctx, func() { heard.Store(true); r.Wake() })
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, ErrUnsupported) {
			if errors.Is(err, ErrOneConnection) {
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
