package idempotency

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/intx"
)

// LayeredConfig is the configuration of [NewLayered].
type LayeredConfig struct {
	// Timeout bounds each call of the pre-check; 50 ms when zero. A call that takes longer
	// counts as unanswered.
	Timeout time.Duration
	// Rest is how long the pre-check is not called after a failure; 1 s when zero. Otherwise
	// each event would wait for the timeout while the pre-check is down.
	Rest time.Duration
	// OnError receives the pre-check's errors, which are not returned; use it for counting. It
	// must not block.
	OnError func(err error)
}

func (c LayeredConfig) validate() error {
	if c.Timeout < 0 {
		return fmt.Errorf("idempotency: LayeredConfig.Timeout is %v; use a positive duration, or 0 for 50 ms", c.Timeout)
	}
	if c.Rest < 0 {
		return fmt.Errorf("idempotency: LayeredConfig.Rest is %v; use a positive duration, or 0 for 1 s", c.Rest)
	}
	return nil
}

// layered marks a key only after its effect is committed: after the truth's own commit, or when
// the truth reports a duplicate. Inside a transaction of the caller, whose outcome is open, no
// key is marked; a later duplicate marks it.
type layered struct {
	fast    driver.Precheck
	truth   driver.BatchStore
	cfg     LayeredConfig
	resting atomic.Int64 // the end of the rest, in Unix nanoseconds
}

var _ driver.BatchStore = (*layered)(nil)

// NewLayered puts a pre-check (package redisidempotency) in front of the deciding store, the
// truth (package sqlidempotency). A key known to the pre-check is a duplicate; for any other
// key, and whenever the pre-check does not answer, the truth decides.
func NewLayered(fast driver.Precheck, truth driver.BatchStore, cfg LayeredConfig) (driver.BatchStore, error) {
	if fast == nil {
		return nil, errors.New("idempotency: the pre-check is nil; make one with redisidempotency.New")
	}
	if truth == nil {
		return nil, errors.New("idempotency: the store that decides is nil; make one with sqlidempotency.New")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 50*time.Millisecond)
	cfg.Rest = cmp.Or(cfg.Rest, time.Second)
	return &layered{fast: fast, truth: truth, cfg: cfg}, nil
}

// Once runs fn unless the pre-check or the truth knows the key.
func (l *layered) Once(ctx context.Context, r driver.Record, fn func(ctx context.Context) error) (bool, error) {
	keys := []string{r.Key}
	if known := l.known(ctx, keys); known[0] {
		return false, nil
	}
	fresh, err := l.truth.Once(ctx, r, fn)
	if err == nil {
		l.mark(ctx, keys)
	}
	return fresh, err
}

// OnceBatch passes only keys to the truth that the pre-check does not know.
func (l *layered) OnceBatch(ctx context.Context, records []driver.Record, fn func(ctx context.Context, fresh []int) error) ([]int, error) {
	rest, places := l.unknown(ctx, records)
	if len(rest) == 0 {
		return nil, nil
	}
	fresh, err := l.truth.OnceBatch(ctx, rest, func(ctx context.Context, fresh []int) error {
		return fn(ctx, pick(places, fresh))
	})
	if err != nil {
		return nil, err
	}
	l.mark(ctx, keysOf(rest))
	return pick(places, fresh), nil
}

// Fresh passes keys that the pre-check does not know to the truth, in the transaction that ctx
// carries. It marks no keys.
func (l *layered) Fresh(ctx context.Context, records []driver.Record) ([]int, error) {
	rest, places := l.unknown(ctx, records)
	fresh, err := l.truth.Fresh(ctx, rest)
	return pick(places, fresh), err
}

// Seen asks the truth if the pre-check does not know the key.
func (l *layered) Seen(ctx context.Context, key string) (bool, error) {
	if l.known(ctx, []string{key})[0] {
		return true, nil
	}
	return l.truth.Seen(ctx, key)
}

// Prune prunes the truth. The pre-check deletes its keys by itself: keep its TTL shorter than
// the retention, or a pruned key stays a duplicate.
func (l *layered) Prune(ctx context.Context, age time.Duration, limit int) (int, error) {
	return l.truth.Prune(ctx, age, limit)
}

// unknown returns the records that the pre-check does not know, and their positions.
func (l *layered) unknown(ctx context.Context, records []driver.Record) (rest []driver.Record, places []int) {
	for i, known := range l.known(ctx, keysOf(records)) {
		if !known {
			rest, places = append(rest, records[i]), append(places, i)
		}
	}
	return rest, places
}

// known returns false for all keys if the pre-check does not answer.
func (l *layered) known(ctx context.Context, keys []string) []bool {
	var known []bool
	l.ask(ctx, func(ctx context.Context) (err error) {
		known, err = l.fast.Known(ctx, keys)
		return err
	})
	if len(known) != len(keys) {
		return make([]bool, len(keys))
	}
	return known
}

func (l *layered) mark(ctx context.Context, keys []string) {
	if _, open := intx.From(ctx); open {
		return
	}
	// The effect is committed, even if ctx ends now.
	l.ask(context.WithoutCancel(ctx), func(ctx context.Context) error { return l.fast.Mark(ctx, keys) })
}

func (l *layered) ask(ctx context.Context, question func(ctx context.Context) error) {
	if time.Now().UnixNano() < l.resting.Load() {
		return
	}
	limited, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	err := question(limited)
	if err == nil || ctx.Err() != nil {
		return // the caller's context ended; the pre-check did not fail
	}
	l.resting.Store(time.Now().Add(l.cfg.Rest).UnixNano())
	if l.cfg.OnError != nil {
		l.cfg.OnError(err)
	}
}

func keysOf(records []driver.Record) []string {
	keys := make([]string, len(records))
	for i, r := range records {
		keys[i] = r.Key
	}
	return keys
}

// pick returns the values at these positions.
func pick[T any](values []T, positions []int) []T {
	picked := make([]T, len(positions))
	for i, p := range positions {
		picked[i] = values[p]
	}
	return picked
}
