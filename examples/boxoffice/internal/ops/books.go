package ops

import (
	"context"
	_ "embed"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

//go:embed sql/checks.sql
var checksSQL string

type statements struct {
	SoldSeats, SeatSoldOnce, HeldSeats, Money, Statistics, HandledOnce, NothingLost, NothingStuck string
	CommentCounts, ChatPlaces                                                                     string
	Moving, Balance, Payments                                                                     string
}

// Books are audited: the tables, the gateway's ledger and the flow have to agree.
type Books struct {
	store   *store.Store
	gateway *payment.Gateway
	traffic *traffic
	sql     statements
	every   time.Duration
	recent  *lastAudit

	paymentLimit time.Duration

	mu      sync.Mutex // one audit at a time
	last    Audit
	lastErr error
	began   time.Time
}

func newBooks(cfg Config, t *traffic) (*Books, error) {
	b := &Books{store: cfg.Store, gateway: cfg.Gateway, traffic: t, every: cfg.Every, recent: newLastAudit(), paymentLimit: cfg.PaymentLimit}
	if err := cfg.Store.Load(checksSQL, &b.sql); err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	return b, nil
}

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
func (b *Books) InvariantsNow(ctx context.Context) (any, error) { return b.AuditNow(ctx) }

// AuditNow checks the books, and asks the transport for it: its answer is of a moment
// after the call. Calls that arrive while an audit runs share the next one.
func (b *Books) AuditNow(ctx context.Context) (Audit, error) {
	asked := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.began.After(asked) && b.lastErr == nil {
		return b.last, nil
	}
	b.began = time.Now()
	b.last, b.lastErr = b.audit(ctx)
	return b.last, b.lastErr
}

func (b *Books) audit(ctx context.Context) (Audit, error) {
	before, err := b.traffic.now(ctx)
	if err == nil && before.quiet() {
		// A message on its way from the broker to a process may be in neither count for a moment.
		before, err = b.traffic.now(ctx)
	}
	if err != nil {
		return Audit{}, err
	}
	tables, err := b.tables(ctx)
	if err != nil {
		return Audit{}, err
	}
	ledger, err := b.ledger(ctx, tables.payments)
	if err != nil {
		return Audit{}, err
	}
	// A payment that began after the snapshot is in the ledger and in no message yet.
	moving, err := b.moving(ctx, b.store.Reader())
	if err != nil {
		return Audit{}, fmt.Errorf("ops: audit: %w", err)
	}
	after, err := b.traffic.now(ctx)
	if err != nil {
		return Audit{}, err
	}
	a := Audit{OK: true, Quiescent: tables.moving == 0 && moving == 0 && before.quiet() && after.quiet()}
	a.Checks = append(append(tables.checks, ledger), after.checks()...)
	for _, c := range a.Checks {
		a.OK = a.OK && c.OK
	}
	return a, nil
}
