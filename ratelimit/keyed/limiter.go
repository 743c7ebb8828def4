package keyed

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/internal/batch"
	"github.com/millrace-go/millrace/internal/complaint"
	"github.com/millrace-go/millrace/ratelimit/keyed/driver"
)

// Config of a [Limiter]. The zero value works.
type Config struct {
	// Timeout bounds a call of the store; 250 ms by default.
	Timeout time.Duration
	// MaxKeys is how many keys a process keeps by itself: those that are to wait, and
	// all while the store is away or where there is none. 100,000 by default, some 100
	// bytes each.
	MaxKeys int
	// Logger hears of a store that is away, at most once a second; slog.Default() when
	// nil.
	Logger *slog.Logger
}

// aloneFor is how long a process counts alone after the store has failed.
const aloneFor = time.Second

// Limiter bounds the calls of keys. It is safe for concurrent use.
type Limiter struct {
	cfg        Config
	shared     *batch.Combiner[driver.Ask, time.Duration] // nil without a store
	alone      *memory
	denied     *memory
	back       atomic.Int64 // on alone's clock: when the store is asked again
	counts     struct{ taken, refused, alone atomic.Int64 }
	complaints complaint.Log
}

// New makes a limiter. Without a store, the process counts alone.
func New(store driver.Store, cfg Config) (*Limiter, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = 250 * time.Millisecond
	}
	if cfg.MaxKeys == 0 {
		cfg.MaxKeys = 100_000
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	switch {
	case cfg.Timeout < 0:
		return nil, fmt.Errorf("keyed: Config.Timeout is %s; give a positive duration, or 0 for 250 ms", cfg.Timeout)
	case cfg.MaxKeys < 8:
		return nil, fmt.Errorf("keyed: Config.MaxKeys is %d; give at least 8, or 0 for 100,000", cfg.MaxKeys)
	}
	l := &Limiter{cfg: cfg, alone: newMemory(cfg.MaxKeys), denied: newMemory(cfg.MaxKeys)}
	if store != nil {
		l.shared = batch.New(driver.MaxAsks, cfg.Timeout, func(ctx context.Context, asks []driver.Ask) ([]time.Duration, error) {
			if l.alone.now() < l.back.Load() {
				return nil, errAlone // callers that queued behind a call that failed
			}
			waits, err := store.Take(ctx, asks)
			if err == nil && len(waits) != len(asks) {
				err = fmt.Errorf("the store answered %d calls of %d", len(waits), len(asks))
			}
			if err != nil {
				l.back.Store(l.alone.now() + aloneFor.Microseconds())
			}
			return waits, err
		})
	}
	return l, nil
}

var errAlone = errors.New("keyed: the store failed a moment ago")

// Take takes one call of a key, whose limit is one call in every, and burst at once: 0,
// or how long to wait before the next attempt. every is 1 µs to 24 h, burst 1 to 1,000,000,
// and burst times every at most 31 days. A limit beyond has no call, and is logged.
func (l *Limiter) Take(ctx context.Context, key string, every time.Duration, burst int) time.Duration {
	wait := l.take(ctx, driver.Ask{Key: short(key), Limit: driver.Limit{Every: every, Burst: burst}})
	if wait > 0 {
		l.counts.refused.Add(1)
	} else {
		l.counts.taken.Add(1)
	}
	return wait
}

// maxKey is the longest [driver.Ask.Key], in bytes.
const maxKey = 200

// short is the key, or the hash of a longer one, which a client may have made up.
func short(key string) string {
	if len(key) <= maxKey {
		return key
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(key)))
}

func (l *Limiter) take(ctx context.Context, a driver.Ask) time.Duration {
	if err := a.Validate(); err != nil {
		l.complaints.Error(ctx, l.cfg.Logger, "keyed: a call was refused", err)
		return driver.MaxSpan
	}
	if l.shared != nil && l.alone.now() >= l.back.Load() {
		if wait := l.denied.left(a.Key); wait > 0 {
			return wait
		}
		wait, err := l.shared.Do(ctx, a)
		if err == nil {
			if wait > 0 {
				l.denied.until(a.Key, wait)
			}
			return wait
		}
		if ctx.Err() == nil && !errors.Is(err, errAlone) {
			l.complaints.Error(ctx, l.cfg.Logger, "keyed: the shared limits cannot be asked; this process counts alone", err)
		}
	}
	l.counts.alone.Add(1)
	return l.alone.take(a)
}

// Stats are the counts of a limiter since it was made.
type Stats struct {
	Taken   int64
	Refused int64
	Alone   int64 // of both: decided by this process alone
}

// Stats reads the counts.
func (l *Limiter) Stats() Stats {
	return Stats{Taken: l.counts.taken.Load(), Refused: l.counts.refused.Load(), Alone: l.counts.alone.Load()}
}
