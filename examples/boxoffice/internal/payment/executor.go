package payment

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// ExecutorConfig of an [Executor].
type ExecutorConfig struct {
	// Holder names this process in the leases of claimed payments; required.
	Holder string
	// Sole states that no other living process uses Holder, so that the claims of an
	// earlier one of that name can be taken over at once.
	Sole bool
	// Concurrency is how many calls run at once; 128 when zero.
	Concurrency int
	// Lease is how long a claim lasts; 15 s when zero. It must exceed the
	// gateway's timeout twice, since an attempt may take two calls. A crash
	// delays its payments by as much.
	Lease time.Duration
	// Retry is the pause before the gateway is asked again; 500 ms × 2 up to
	// 10 s, with jitter, when zero.
	Retry kit.Backoff
	// Look is how often an idle executor looks for payments that another process left; 1
	// s when zero. Payments of its own process wake it.
	Look time.Duration
	// Drain is how long Run waits for calls in flight after its context has ended; 10 s
	// when zero.
	Drain time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

func (c ExecutorConfig) validate(timeout time.Duration) error {
	switch {
	case c.Holder == "":
		return errors.New("payment: Holder is empty; name this process")
	case c.Concurrency < 0 || c.Lease < 0 || c.Look < 0 || c.Drain < 0:
		return errors.New("payment: Concurrency, Lease, Look and Drain must not be negative; use 0 for the defaults")
	case c.withDefaults().Lease <= 2*timeout:
		return fmt.Errorf("payment: Lease %v does not exceed twice the gateway's timeout of %v; raise it", c.withDefaults().Lease, timeout)
	}
	return nil
}

func (c ExecutorConfig) withDefaults() ExecutorConfig {
	c.Concurrency = cmp.Or(c.Concurrency, 128)
	c.Lease = cmp.Or(c.Lease, 15*time.Second)
	if c.Retry == (kit.Backoff{}) {
		c.Retry = kit.Backoff{Initial: 500 * time.Millisecond, Max: 10 * time.Second, Jitter: 0.2}
	}
	c.Look = cmp.Or(c.Look, time.Second)
	c.Drain = cmp.Or(c.Drain, 10*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// ExecutorStatus has the executor's figures for an operator. Counters start at zero
// with the process.
type ExecutorStatus struct {
	InFlight  int64 // calls under way
	Approved  int64
	Declined  int64
	Refunded  int64
	Postponed int64 // attempts without an outcome
	LastError string
}

// Executor carries out payments and refunds. Several may run, in one process
// or in many.
type Executor struct {
	p       *Payments
	gateway *Gateway
	cfg     ExecutorConfig

	inFlight, approved, declined, refunded, postponed atomic.Int64

	mu        sync.Mutex
	lastError string
}

// NewExecutor makes an Executor. It does no I/O.
func NewExecutor(p *Payments, g *Gateway, cfg ExecutorConfig) (*Executor, error) {
	if err := cfg.validate(g.timeout); err != nil {
		return nil, err
	}
	return &Executor{p: p, gateway: g, cfg: cfg.withDefaults()}, nil
}

// Status returns the executor's figures.
func (x *Executor) Status() ExecutorStatus {
	x.mu.Lock()
	defer x.mu.Unlock()
	return ExecutorStatus{
		InFlight: x.inFlight.Load(), Approved: x.approved.Load(), Declined: x.declined.Load(),
		Refunded: x.refunded.Load(), Postponed: x.postponed.Load(), LastError: x.lastError,
	}
}

// claimed is a payment that this executor may work on until its lease ends.
type claimed struct {
	id, key, member, typ, reference, reservation string
	amount                                       int64
	card, status, gatewayID, refundReason        string
	correlation, causation                       string // of the charge, or of the refund
	attempts, token                              int64
}

// Run carries out due payments until ctx ends; then it claims nothing more and waits
// for the calls in flight. It returns nil.
func (x *Executor) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var calls sync.WaitGroup
	freed := signal.New()
	timer := time.NewTimer(0)
	defer timer.Stop()

	reclaim := x.cfg.Sole
	for ctx.Err() == nil {
		if reclaim {
			reclaim = x.reclaim(ctx) != nil
		}
		free := x.cfg.Concurrency - int(x.inFlight.Load())
		next := x.cfg.Look
		if free > 0 {
			batch, wait, err := x.claim(ctx, free)
			if err != nil && ctx.Err() == nil {
				x.cfg.Logger.Warn("payments could not be claimed, will try again", "error", err)
			}
			for _, c := range batch {
				x.inFlight.Add(1)
				calls.Go(func() {
					x.attempt(work, c)
					x.inFlight.Add(-1)
					freed.Wake()
				})
			}
			if next = wait; len(batch) == free {
				next = x.cfg.Look // full: a call that ends is the signal
			}
		}
		timer.Reset(next)
		select {
		case <-ctx.Done():
		case <-x.p.due:
		case <-timer.C:
		case <-freed:
		}
	}
	drain := time.AfterFunc(x.cfg.Drain, stop)
	defer drain.Stop()
	calls.Wait()
	return nil
}

// claim takes up to limit due payments, and returns the time until the next is due.
func (x *Executor) claim(ctx context.Context, limit int) ([]claimed, time.Duration, error) {
	// Most looks find nothing, and reading waits for no writer.
	var ms sql.NullInt64
	if err := x.p.store.Reader().QueryRowContext(ctx, x.p.sql.NextDue).Scan(&ms); err != nil {
		return nil, x.cfg.Look, fmt.Errorf("payment: look for due payments: %w", err)
	}
	wait := x.cfg.Look
	if ms.Valid {
		wait = min(wait, time.Duration(ms.Int64)*time.Millisecond)
	}
	if wait > 0 {
		return nil, wait, nil
	}
	var batch []claimed
	err := x.p.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if batch, err = x.due(ctx, tx, limit); err != nil {
			return err
		}
		for _, c := range batch {
			if _, err := tx.ExecContext(ctx, x.p.sql.Claim, c.id, x.cfg.Holder, x.cfg.Lease.Milliseconds()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, x.cfg.Look, fmt.Errorf("payment: claim: %w", err)
	}
	if len(batch) == 0 { // others have locked what is due
		return nil, x.cfg.Look, nil
	}
	return batch, 0, nil
}

// due locks and returns up to limit due payments, as they are once claimed.
func (x *Executor) due(ctx context.Context, tx *sql.Tx, limit int) ([]claimed, error) {
	return store.List(ctx, tx, x.p.sql.Due, []any{limit}, func(row *sql.Rows) (claimed, error) {
		var c claimed
		err := row.Scan(&c.id, &c.key, &c.member, &c.typ, &c.reference, &c.reservation, &c.amount, &c.card,
			&c.status, &c.gatewayID, &c.refundReason, &c.attempts, &c.token, &c.correlation, &c.causation)
		return c, err
	})
}

// reclaim takes over the claims of a dead process of the same name.
func (x *Executor) reclaim(ctx context.Context) error {
	return x.p.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, x.p.sql.Reclaim, x.cfg.Holder)
		return err
	})
}

// attempt makes the calls for one payment and writes the outcome.
func (x *Executor) attempt(ctx context.Context, c claimed) {
	var err error
	switch {
	case c.status == Success:
		err = x.refund(ctx, c)
	case c.typ == events.ForTransfer:
		var ended bool
		if ended, err = x.p.Offers.expire(event.WithCorrelation(ctx, c.correlation), c.id); !ended && err == nil {
			err = x.charge(ctx, c)
		}
	default:
		err = x.charge(ctx, c)
	}
	if err == nil {
		return
	}
	x.postponed.Add(1)
	x.mu.Lock()
	x.lastError = err.Error()
	x.mu.Unlock()
	if err := x.postpone(ctx, c, err); err != nil && ctx.Err() == nil {
		x.cfg.Logger.Warn("a payment's attempt was not written down; its lease runs out", "payment", c.id, "error", err)
	}
}

// postpone lets the payment be due again later.
func (x *Executor) postpone(ctx context.Context, c claimed, cause error) error {
	delay := x.cfg.Retry.Delay(int(min(c.attempts, 64)))
	return x.p.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, x.p.sql.Postpone, c.id, c.token, delay.Milliseconds(), store.Clip(cause.Error(), 300))
		return err
	})
}
