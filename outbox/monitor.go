package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/outbox/driver"
)

// MonitorConfig configures a [Monitor]. The zero value works.
type MonitorConfig struct {
	// Every is the interval between two queries; 5 s when zero. A query counts the backlog of
	// each shard, up to BacklogLimit.
	Every time.Duration
	// Timeout bounds one query; 5 s when zero.
	Timeout time.Duration
	// OldSnapshot is the age from which the holder of the oldest snapshot is logged, if the
	// store is a Snapshotter; 1 h when zero.
	OldSnapshot time.Duration
	// Logger receives the beginning and the end of an outage, and the holder of an old
	// snapshot; slog.Default() when nil.
	Logger *slog.Logger
}

// Monitor queries the state of the shards in the background and keeps the last answer, so that
// a request or a metrics scrape never waits for the database.
type Monitor struct {
	store driver.Inspector
	cfg   MonitorConfig
	made  time.Time

	mu     sync.Mutex
	shards []driver.ShardStats
	oldest driver.Snapshot
	at     time.Time
	err    error

	logged   string // the holder of an old snapshot that was logged
	snapFail bool   // the last query for snapshots failed
}

// Standing is the last answer of a store.
type Standing struct {
	Shards []driver.ShardStats
	// Oldest is the oldest snapshot on the server; zero if the store cannot find it.
	Oldest driver.Snapshot
	At     time.Time     // the time of the answer; zero when there was none
	Age    time.Duration // the age of the answer, or of the monitor when there was none
	Err    error         // the error of the latest query
}

// NewMonitor creates a monitor; Run refreshes it. NewMonitor does no I/O.
func NewMonitor(store driver.Inspector, cfg MonitorConfig) (*Monitor, error) {
	if store == nil {
		return nil, errors.New("outbox: NewMonitor: store is nil; give the store of the outbox")
	}
	for field, d := range map[string]time.Duration{"Every": cfg.Every, "Timeout": cfg.Timeout, "OldSnapshot": cfg.OldSnapshot} {
		if d < 0 {
			return nil, fmt.Errorf("outbox: MonitorConfig.%s is %v; give a positive duration, or 0 for the default", field, d)
		}
	}
	if cfg.Every == 0 {
		cfg.Every = 5 * time.Second
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	if cfg.OldSnapshot == 0 {
		cfg.OldSnapshot = time.Hour
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Monitor{store: store, cfg: cfg, made: time.Now()}, nil
}

// Run queries the store at once and then every interval until ctx is done, and returns nil.
// After an error the last answer stays and ages.
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
	var oldest driver.Snapshot
	var unseen error
	if s, ok := m.store.(driver.Snapshotter); ok && err == nil {
		oldest, unseen = s.OldestSnapshot(asking)
	}
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.see(oldest, unseen)
	}
	switch { // one line per outage, not one per query
	case err != nil && m.err == nil:
		m.cfg.Logger.Warn("outbox: the backlog is unknown; the last answer stands", "error", err)
	case err == nil && m.err != nil:
		m.cfg.Logger.Info("outbox: the backlog is known again")
	}
	if m.err = err; err == nil {
		m.shards, m.at = shards, time.Now()
	}
}

// see stores the answer about the oldest snapshot. An error keeps the last answer, and does not
// affect the shards.
func (m *Monitor) see(oldest driver.Snapshot, err error) {
	if err != nil && !m.snapFail {
		m.cfg.Logger.Warn("outbox: the oldest snapshot is unknown; the last answer stands", "error", err)
	}
	if m.snapFail = err != nil; m.snapFail {
		return
	}
	m.oldest = oldest
	switch old := oldest.Age >= m.cfg.OldSnapshot; { // one line per holder, not one per query
	case old && m.logged != oldest.Holder:
		m.cfg.Logger.Warn("outbox: an old snapshot keeps the server from clearing away published events; end its holder",
			"age", oldest.Age.Round(time.Second), "holder", oldest.Holder)
		m.logged = oldest.Holder
	case !old && m.logged != "":
		m.cfg.Logger.Info("outbox: no snapshot is old any longer")
		m.logged = ""
	}
}

// Standing returns the last answer. It never waits for the store.
func (m *Monitor) Standing() Standing {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Standing{Shards: slices.Clone(m.shards), Oldest: m.oldest, At: m.at, Err: m.err}
	if s.Age = time.Since(m.made); !m.at.IsZero() {
		s.Age = time.Since(m.at)
	}
	return s
}
