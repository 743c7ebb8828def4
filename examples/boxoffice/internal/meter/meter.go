package meter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/ratelimit"
)

// MaxSeries is how many seconds a [Meter] returns at most.
const MaxSeries = 120

// Second is how many calls were made in a second, by all processes. Its JSON is in the
// operator's report.
type Second struct {
	Unix int64 `json:"at"` // when it began, by the store's clock
	High int64 `json:"high"`
	Low  int64 `json:"low"`
}

// Store adds up the counts of processes. It has a clock.
type Store interface {
	// Add adds counts to their seconds and returns the store's time. With no
	// counts it returns the time alone.
	Add(ctx context.Context, counts []Second) (now time.Time, err error)
	// Read returns n seconds in a row, from the one that began at first, and the
	// store's time.
	Read(ctx context.Context, first int64, n int) (seconds []Second, now time.Time, err error)
}

// Config of a [Meter]. The zero value works.
type Config struct {
	// Timeout bounds one call of the store; 500 ms when zero. It must be less
	// than a second, or seconds are shown before they are whole.
	Timeout time.Duration
	// Logger is slog.Default() when nil. An outage is logged once.
	Logger *slog.Logger
}

func (c Config) validate() error {
	if c.Timeout < 0 || c.Timeout >= time.Second {
		return fmt.Errorf("meter: Config.Timeout is %s; give less than 1 s, or 0 for 500 ms", c.Timeout)
	}
	return nil
}

// Meter counts calls. It is safe for concurrent use.
type Meter struct {
	store   Store
	cfg     Config
	clock   clock
	pending pending
	dropped atomic.Int64
}

// New makes a Meter; Run writes its counts. It does no I/O.
func New(store Store, cfg Config) (*Meter, error) {
	if store == nil {
		return nil, errors.New("meter: the store is nil; make one with NewMemory or NewRedis")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 500*time.Millisecond)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	m := &Meter{store: store, cfg: cfg}
	m.clock.start()
	return m, nil
}

// Count counts n calls that are made now. It has the form of
// [ratelimit.Config.OnAcquired], and does not wait for the store.
func (m *Meter) Count(p ratelimit.Priority, n int) {
	if n <= 0 {
		return
	}
	s := Second{Unix: m.clock.now().Unix()}
	if p == ratelimit.High {
		s.High = int64(n)
	} else {
		s.Low = int64(n)
	}
	m.dropped.Add(m.pending.add(s))
}

// Dropped is how many calls of this process are in no second: the store was
// unreachable, or Run does not run.
func (m *Meter) Dropped() int64 { return m.dropped.Load() }

// settles is how many seconds, counted from the present one, are not returned yet:
// the present one, and the one before, which processes are just writing.
const settles = 2

// Series returns the last n seconds, oldest first, at most [MaxSeries]. The newest
// ended at least one second ago, so that every process has had the time to write its
// counts. It asks the store, for as long as Config.Timeout.
func (m *Meter) Series(ctx context.Context, n int) ([]Second, error) {
	if n < 1 || n > MaxSeries {
		return nil, fmt.Errorf("meter: a series of %d seconds; ask for 1 to %d", n, MaxSeries)
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	first := func() int64 { return m.clock.now().Unix() - settles - int64(n) + 1 }
	for asked := first(); ; {
		sent := m.clock.elapsed()
		seconds, now, err := m.store.Read(ctx, asked, n)
		if err != nil {
			return nil, fmt.Errorf("meter: series: %w", err)
		}
		m.clock.learn(sent, now)
		// The answer also has the store's time: a process that has not known it so far has
		// asked for the wrong seconds.
		if right := first(); right < asked || right > asked+1 {
			asked = right
			continue
		}
		return seconds, nil
	}
}
