package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// inspected is a store with scripted answers, which can also hang.
type inspected struct {
	mu     sync.Mutex
	shards []driver.ShardStats
	hangs  bool
	asked  int
}

func (i *inspected) set(shards []driver.ShardStats, hangs bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.shards, i.hangs = shards, hangs
}

func (i *inspected) Stats(ctx context.Context) ([]driver.ShardStats, error) {
	i.mu.Lock()
	i.asked++
	shards, hangs := i.shards, i.hangs
	i.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return shards, nil
}

// TestMonitorKeepsTheLastAnswer: no caller waits for a hanging store; the last answer stays and
// ages.
func TestMonitorKeepsTheLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &inspected{shards: []driver.ShardStats{{Backlog: 3}}}
		var log strings.Builder
		m, err := outbox.NewMonitor(store, outbox.MonitorConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		if s := m.Standing(); s.Shards != nil || !s.At.IsZero() || s.Age != 2*time.Second {
			t.Errorf("before the first answer: %+v", s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		synctest.Wait()
		if s := m.Standing(); len(s.Shards) != 1 || s.Shards[0].Backlog != 3 || s.Age != 0 || s.Err != nil {
			t.Errorf("after the first answer: %+v", s)
		}
		store.set(nil, true)
		time.Sleep(12 * time.Second)
		if s := m.Standing(); s.Shards[0].Backlog != 3 || s.Age != 12*time.Second || !errors.Is(s.Err, context.DeadlineExceeded) {
			t.Errorf("while it hangs: %+v", s)
		}
		store.mu.Lock()
		if store.asked != 3 {
			t.Errorf("asked %d times in 12 s, want 3: at 0, 5 and 10 s", store.asked)
		}
		store.mu.Unlock()
		store.set(nil, false)
		time.Sleep(9 * time.Second)
		if s := m.Standing(); s.Shards != nil || s.Err != nil || s.Age >= 5*time.Second {
			t.Errorf("when it is back: %+v", s)
		}
		cancel()
		assert.NoError(t, <-done)
		if n := strings.Count(log.String(), "\n"); n != 2 {
			t.Errorf("%d lines for one outage:\n%s", n, log.String())
		}
	})
}

// snapped is a store that also returns the oldest snapshot.
type snapped struct {
	inspected
	oldest driver.Snapshot
	err    error
}

func (s *snapped) OldestSnapshot(context.Context) (driver.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.oldest, s.err
}

func (s *snapped) hold(age time.Duration, holder string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest, s.err = driver.Snapshot{Age: age, Holder: holder}, err
}

// TestMonitorTellsTheOldestSnapshot: the monitor also queries the oldest snapshot. The holder
// of an old one is logged once, and an error keeps the last answer and the shards.
func TestMonitorTellsTheOldestSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &snapped{inspected: inspected{shards: []driver.ShardStats{{Backlog: 3}}}}
		var log strings.Builder
		m, err := outbox.NewMonitor(store, outbox.MonitorConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		step := func(age time.Duration, holder string, err error, want time.Duration, lines int) {
			t.Helper()
			store.hold(age, holder, err)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			s := m.Standing()
			if s.Oldest.Age != want || s.Err != nil || len(s.Shards) != 1 || s.Age > 5*time.Second {
				t.Errorf("with %v: %+v, want an oldest snapshot of %v and the shards", age, s, want)
			}
			if n := strings.Count(log.String(), "\n"); n != lines {
				t.Errorf("with %v: %d lines, want %d:\n%s", age, n, lines, log.String())
			}
		}
		step(59*time.Minute, "session 7", nil, 59*time.Minute, 0)
		step(time.Hour, "session 7", nil, time.Hour, 1)
		step(2*time.Hour, "session 7", nil, 2*time.Hour, 1)
		step(0, "", errors.New("no answer"), 2*time.Hour, 2)
		step(3*time.Hour, "session 8", nil, 3*time.Hour, 3)
		step(0, "", nil, 0, 4)
		for _, want := range []string{"session 7", "session 8", "no answer", "no snapshot is old any longer"} {
			if strings.Count(log.String(), want) != 1 {
				t.Errorf("%q is not in the log once:\n%s", want, log.String())
			}
		}
		cancel()
		assert.NoError(t, <-done)
	})
}

func TestMonitorConfig(t *testing.T) {
	if _, err := outbox.NewMonitor(nil, outbox.MonitorConfig{}); err == nil {
		t.Error("no store was taken")
	}
	for field, cfg := range map[string]outbox.MonitorConfig{"Every": {Every: -1}, "Timeout": {Timeout: -1}, "OldSnapshot": {OldSnapshot: -1}} {
		if _, err := outbox.NewMonitor(&inspected{}, cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func ExampleNewMonitor() {
	monitor, err := outbox.NewMonitor(outboxtest.NewMemory(1), outbox.MonitorConfig{})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- monitor.Run(ctx) }()
	for monitor.Standing().At.IsZero() {
		runtime.Gosched() // until the first answer
	}
	fmt.Println("waiting:", monitor.Standing().Shards[0].Backlog)
	cancel()
	fmt.Println(<-done)
	// Output:
	// waiting: 0
	// <nil>
}
