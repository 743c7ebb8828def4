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

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// inspected is a store that answers as it is told, or hangs.
type inspected struct {
	mu     sync.Mutex
	shards []outbox.ShardStats
	hangs  bool
	asked  int
}

func (i *inspected) set(shards []outbox.ShardStats, hangs bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.shards, i.hangs = shards, hangs
}

func (i *inspected) Stats(ctx context.Context) ([]outbox.ShardStats, error) {
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

// Nobody waits for a store that hangs; its last answer stands, and ages.
func TestMonitorKeepsTheLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &inspected{shards: []outbox.ShardStats{{Backlog: 3}}}
		var log strings.Builder
		m, err := outbox.NewMonitor(store, outbox.MonitorConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
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
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "\n"); n != 2 {
			t.Errorf("%d lines for one outage:\n%s", n, log.String())
		}
	})
}

func TestMonitorConfig(t *testing.T) {
	if _, err := outbox.NewMonitor(nil, outbox.MonitorConfig{}); err == nil {
		t.Error("no store was taken")
	}
	for field, cfg := range map[string]outbox.MonitorConfig{"Every": {Every: -1}, "Timeout": {Timeout: -1}} {
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
