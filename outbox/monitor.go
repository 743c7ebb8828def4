package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// MonitorConfig configures a [Monitor]. The zero value works.
type MonitorConfig struct {
	// Every is how often the store is asked; 5 s when zero. Asking counts the
	// backlog of each shard, up to BacklogLimit.
	Every time.Duration
	// Timeout of one question; 5 s when zero.
	Timeout time.Duration
	// Logger receives the begin and the end of an outage; nil is silent.
	Logger *slog.Logger
}

// Monitor keeps at hand how the shards stand, asked in the background, so that a
// request or a metrics scrape never waits for the database.
type Monitor struct {
	store Inspector
	cfg   MonitorConfig
	made  time.Time

	mu     sync.Mutex
	shards []ShardStats
	at     time.Time
	err    error
}

// Standing is the last answer of a store.
type Standing struct {
	Shards []ShardStats
	At     time.Time     // of the answer; zero when there was none
	Age    time.Duration // since the answer, or since the monitor was made when there was none
	Err    error         // why the latest question failed; nil when it did not
}

// NewMonitor makes a monitor; Run refreshes it. It does no I/O.
func NewMonitor(store Inspector, cfg MonitorConfig) (*Monitor, error) {
	if store == nil {
		return nil, errors.New("outbox: NewMonitor: store is nil; give the store of the outbox")
	}
	for field, d := range map[string]time.Duration{"Every": cfg.Every, "Timeout": cfg.Timeout} {
		if d < 0 {
			return nil, fmt.Errorf("outbox: MonitorConfig.%s is %v; give a positive duration, or 0 for 5s", field, d)
		}
	}
	if cfg.Every == 0 {
		cfg.Every = 5 * time.Second
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Monitor{store: store, cfg: cfg, made: time.Now()}, nil
}

// Run asks the store at once and then every interval until ctx is done, and
// returns nil. An error keeps the last answer, which ages.
func (m *Monitor) Run(ctx context.Context) error {
	tick := time.NewTicker(m.cfg.Every)
	defer tick.Stop()
	for {
		m.ask(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (m *Monitor) ask(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	shards, err := m.store.Stats(asking)
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch { // one line per outage, not one per question
	case err != nil && m.err == nil:
		m.cfg.Logger.Warn("outbox: the backlog is unknown; the last answer stands", "error", err)
	case err == nil && m.err != nil:
		m.cfg.Logger.Info("outbox: the backlog is known again")
	}
	if m.err = err; err == nil {
		m.shards, m.at = shards, time.Now()
	}
}

// Standing returns the last answer. It never waits for the store.
func (m *Monitor) Standing() Standing {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Standing{Shards: slices.Clone(m.shards), At: m.at, Err: m.err}
	if s.Age = time.Since(m.made); !m.at.IsZero() {
		s.Age = time.Since(m.at)
	}
	return s
}
