package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// LagMonitorConfig configures a [LagMonitor]. The zero value works.
type LagMonitorConfig struct {
	// Every is the interval between queries; 5 s by default. A query costs the transport one
	// statement per group, or a round trip to the broker.
	Every time.Duration
	// Timeout of one query; 5 s by default.
	Timeout time.Duration
	// MaxAge is how old the last answer may be before it counts as stale; three times Every by
	// default.
	MaxAge time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// LagMonitor holds the transport's lag in memory and refreshes it in the background, so that a
// request or a metrics scrape never waits for a broker.
type LagMonitor struct {
	bus *Bus
	cfg LagMonitorConfig

	mu   sync.Mutex
	lags []Lag
	of   map[[2]string]Lag
	at   time.Time
	err  error
}

// LagSnapshot is the last answer of the transport.
type LagSnapshot struct {
	Lags  []Lag
	Age   time.Duration // since the answer; undefined when not Known
	Known bool          // there was an answer
	Stale bool          // the answer is older than MaxAge, or there was none
	// Err is the error of the latest query; nil when it succeeded. errors.ErrUnsupported means
	// that the transport can never tell.
	Err error
}

// NewLagMonitor makes a monitor; Run refreshes it.
func NewLagMonitor(b *Bus, cfg LagMonitorConfig) (*LagMonitor, error) {
	if b == nil {
		return nil, errors.New("bus: NewLagMonitor: bus is nil; open one with bus.Open")
	}
	for field, d := range map[string]time.Duration{"Every": cfg.Every, "Timeout": cfg.Timeout, "MaxAge": cfg.MaxAge} {
		if d < 0 {
			return nil, fmt.Errorf("bus: NewLagMonitor: %s is %s; give a positive duration, or 0 for the default", field, d)
		}
	}
	cfg.Every = cmp.Or(cfg.Every, 5*time.Second)
	cfg.Timeout = cmp.Or(cfg.Timeout, 5*time.Second)
	cfg.MaxAge = cmp.Or(cfg.MaxAge, 3*cfg.Every)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	return &LagMonitor{bus: b, cfg: cfg}, nil
}

// Run queries the transport at once and then at every interval, until ctx is cancelled; then it
// returns nil. After an error the last answer remains, and its age grows. For a transport that
// cannot tell its lag, Run only waits for ctx.
func (m *LagMonitor) Run(ctx context.Context) error {
	tick := time.NewTicker(m.cfg.Every)
	defer tick.Stop()
	for {
		m.refresh(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (m *LagMonitor) refresh(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	lags, err := m.bus.Lag(asking)
	cancel()
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		// Once per outage, not once per query.
		if m.err == nil {
			m.cfg.Logger.Warn("bus: the lag is unknown", "error", err)
		}
		m.err = err
		return
	}
	if m.err != nil {
		m.cfg.Logger.Info("bus: the lag is known again")
	}
	m.lags, m.at, m.err = lags, time.Now(), nil
	m.of = make(map[[2]string]Lag, len(lags))
	for _, l := range lags {
		m.of[[2]string{l.Topic, l.Group}] = l
	}
}

// Snapshot returns the last answer about all groups. The caller must not change its Lags.
// Snapshot never waits for the transport.
func (m *LagMonitor) Snapshot() LagSnapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := LagSnapshot{Lags: m.lags, Known: !m.at.IsZero(), Err: m.err}
	s.Age, s.Stale = m.age()
	return s
}

// Of returns the lag of a group from the last answer, and whether it can be relied on: the
// transport knows the group, and the answer is not older than MaxAge. It never waits for the
// transport.
func (m *LagMonitor) Of(topic, group string) (lag Lag, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lag, ok = m.of[[2]string{topic, group}]
	_, stale := m.age()
	return lag, ok && !stale
}

// age returns the age of the last answer, and whether it is stale. The caller holds m.mu.
func (m *LagMonitor) age() (time.Duration, bool) {
	if m.at.IsZero() {
		return 0, true
	}
	age := time.Since(m.at)
	return age, age > m.cfg.MaxAge
}
