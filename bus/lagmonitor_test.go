package bus_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

// lagging is a driver whose lag the test sets.
type lagging struct {
	driver.Driver
	lag func(context.Context) ([]bus.Lag, error)
}

func (l lagging) Lag(ctx context.Context) ([]bus.Lag, error) { return l.lag(ctx) }

// blind is a driver that cannot tell its lag.
type blind struct{ driver.Driver }

func monitor(t *testing.T, b *bus.Bus, cfg bus.LagMonitorConfig) *bus.LagMonitor {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	m, err := bus.NewLagMonitor(b, cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done, "Run")
	})
	return m
}

func TestLagMonitorRefreshesAndKeepsTheLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("broker away")
		var failing atomic.Bool
		var n atomic.Int64
		b := bus.New("x", lagging{memBus(t).Driver(), func(context.Context) ([]bus.Lag, error) {
			if failing.Load() {
				return nil, away
			}
			return []bus.Lag{{Topic: "t", Group: "g", Messages: int(n.Add(1))}}, nil
		}})
		m, err := bus.NewLagMonitor(b, bus.LagMonitorConfig{})
		require.NoError(t, err)
		if r, known := m.Of("t", "g"); known {
			t.Errorf("before the first answer: %+v", r)
		}
		if s := m.Snapshot(); s.Known || !s.Stale {
			t.Errorf("before the first answer: %+v", s)
		}
		m = monitor(t, b, bus.LagMonitorConfig{})
		synctest.Wait()
		if r, known := m.Of("t", "g"); !known || r.Messages != 1 || m.Snapshot().Age != 0 {
			t.Errorf("at once: %+v", r)
		}
		if r, known := m.Of("t", "other"); known || r.Messages != 0 {
			t.Errorf("a group that the transport does not know: %+v", r)
		}
		settle(12 * time.Second)
		if r, _ := m.Of("t", "g"); r.Messages != 3 || m.Snapshot().Age != 2*time.Second {
			t.Errorf("after 12 s: %+v, want the third answer, 2 s old", r)
		}
		failing.Store(true)
		settle(13 * time.Second)
		if r, known := m.Of("t", "g"); r.Messages != 3 || !known || m.Snapshot().Age != 15*time.Second {
			t.Errorf("after 15 s without an answer: %+v", r)
		}
		settle(time.Second)
		s := m.Snapshot()
		if r, known := m.Of("t", "g"); known || r.Messages != 3 || !s.Stale || !s.Known || !errors.Is(s.Err, away) || len(s.Lags) != 1 {
			t.Errorf("after 16 s: %+v %+v, want the old answer marked as stale", r, s)
		}
		failing.Store(false)
		settle(5 * time.Second)
		if s := m.Snapshot(); s.Stale || s.Err != nil || s.Lags[0].Messages != 4 {
			t.Errorf("after the outage: %+v", s)
		}
	})
}

func TestLagMonitorBoundsAQuestionAndSaysWhatCannotBeTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		b := bus.New("slow", lagging{memBus(t).Driver(), func(ctx context.Context) ([]bus.Lag, error) {
			asked.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		m := monitor(t, b, bus.LagMonitorConfig{Every: time.Second, Timeout: 2 * time.Second})
		settle(time.Minute)
		if s := m.Snapshot(); asked.Load() < 20 || asked.Load() > 31 || !errors.Is(s.Err, context.DeadlineExceeded) {
			t.Errorf("asked %d times, %+v", asked.Load(), s)
		}
		m = monitor(t, bus.New("blind", blind{memBus(t).Driver()}), bus.LagMonitorConfig{})
		settle(time.Minute)
		if s := m.Snapshot(); s.Known || !errors.Is(s.Err, errors.ErrUnsupported) {
			t.Errorf("a transport that cannot tell: %+v", s)
		}
	})
}

func TestLagMonitorErrors(t *testing.T) {
	if _, err := bus.NewLagMonitor(nil, bus.LagMonitorConfig{}); err == nil {
		t.Error("a nil bus was accepted")
	}
	for _, cfg := range []bus.LagMonitorConfig{{Every: -1}, {Timeout: -1}, {MaxAge: -1}} {
		if _, err := bus.NewLagMonitor(memBus(t), cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}
