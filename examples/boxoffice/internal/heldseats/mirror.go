package heldseats

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

//go:embed sql/heldseats.sql
var heldSQL string

// maxWaiting bounds the changes that wait to be written, in seats. Further changes are
// dropped, and the sweep repairs the copy.
const maxWaiting = 10_000

// Any in [Change.Was] stands for any reservation.
const Any = "*"

// Change of one seat.
type Change struct {
	Seat string
	// Was is the reservation that must have the seat, "" for none, [Any] for any:
	// otherwise nothing is changed.
	Was string
	// Now is the reservation that has the seat afterwards, "" for none.
	Now string
}

// Store is where the copy is: [Memory] or [Redis].
type Store interface {
	// Change makes changes to the held seats of a show, in order and atomically, and lets
	// the copy expire after ttl without another call. No changes only prolong the copy.
	Change(ctx context.Context, show string, ttl time.Duration, changes ...Change) error
	// Read returns the reservations of the held seats of a show, by seat.
	Read(ctx context.Context, show string) (map[string]string, error)
}

// Config of a [Mirror].
type Config struct {
	// TTL is how long the copy stays without a change or repair; required. It must exceed
	// the longest hold with its payment.
	TTL time.Duration
	// Holder names this process in the sweep's lease; required.
	Holder string
	// Every is how often the copy is compared with the database; 10 s when zero.
	Every time.Duration
	// Timeout bounds each call of the store; 500 ms when zero.
	Timeout time.Duration
	// Logger is slog.Default() when nil. An outage is logged once.
	Logger *slog.Logger
}

func (c Config) validate() error {
	switch {
	case c.TTL <= 0:
		return fmt.Errorf("heldseats: TTL %v; give more than the longest hold with its payment", c.TTL)
	case c.Holder == "":
		return errors.New("heldseats: Holder is empty; name this process")
	case c.Every < 0 || c.Timeout < 0:
		return errors.New("heldseats: Every and Timeout must not be negative; use 0 for the defaults")
	}
	return nil
}

type statements struct{ NextDue, Shows, Held string }

// Mirror copies the held seats. It is safe for concurrent use.
type Mirror struct {
	seats *store.Store
	copy  Store
	cfg   Config
	sql   statements
	down  atomic.Bool
	wake  signal.Signal

	mu      sync.Mutex
	waiting map[string][]Change // by show
	n       int                 // of them
}

// New makes a Mirror of the seats in s. It does no I/O.
func New(s *store.Store, to Store, cfg Config) (*Mirror, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Every = cmp.Or(cfg.Every, 10*time.Second)
	cfg.Timeout = cmp.Or(cfg.Timeout, 500*time.Millisecond)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	m := &Mirror{seats: s, copy: to, cfg: cfg, wake: signal.New(), waiting: map[string][]Change{}}
	if err := s.Load(heldSQL, &m.sql); err != nil {
		return nil, fmt.Errorf("heldseats: %w", err)
	}
	return m, nil
}

// Held records that a reservation holds these seats now. It waits for nothing.
func (m *Mirror) Held(show, reservation string, seats []string) {
	m.add(show, seats, Change{Was: Any, Now: reservation})
}

// Freed records that a reservation no longer holds these seats: they were sold or are
// free. It waits for nothing.
func (m *Mirror) Freed(show, reservation string, seats []string) {
	m.add(show, seats, Change{Was: reservation})
}

func (m *Mirror) add(show string, seats []string, c Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.n+len(seats) > maxWaiting {
		return
	}
	for _, c.Seat = range seats {
		m.waiting[show] = append(m.waiting[show], c)
	}
	m.n += len(seats)
	m.wake.Wake()
}

// Run writes the changes until ctx ends, and then the remaining ones, for which it
// takes up to one more Timeout of a call when the store does not answer. It returns
// nil.
func (m *Mirror) Run(ctx context.Context) error {
	calls := context.WithoutCancel(ctx)
	for {
		select {
		case <-m.wake:
			m.flush(calls)
		case <-ctx.Done():
			m.flush(calls)
			return nil
		}
	}
}

// flush writes the waiting changes. It leaves failed ones to the sweep.
func (m *Mirror) flush(ctx context.Context) {
	m.mu.Lock()
	all := m.waiting
	m.waiting, m.n = map[string][]Change{}, 0
	m.mu.Unlock()
	for show, changes := range all {
		if err := m.change(ctx, show, changes...); err != nil {
			m.report(ctx, err)
			return
		}
	}
	if len(all) > 0 {
		m.report(ctx, nil)
	}
}

func (m *Mirror) change(ctx context.Context, show string, changes ...Change) error {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	return m.copy.Change(ctx, show, m.cfg.TTL, changes...)
}

// report logs the begin and the end of an outage.
func (m *Mirror) report(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && !m.down.Swap(true):
		m.cfg.Logger.Warn("the copy of the held seats can't be written; bookings go on, and it is repaired later", "error", err)
	case err == nil && m.down.Swap(false):
		m.cfg.Logger.Info("the copy of the held seats is written again")
	}
}
