package memqueue_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fragile is a store that can lose its data, with a clock that stands still unless
// time passes.
type fragile struct {
	mu     sync.Mutex
	now    time.Time
	passes func() time.Duration
	store  driver.MemoryStore
}

func (f *fragile) current() driver.MemoryStore {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.store
}

func (f *fragile) Visit(ctx context.Context, event string, r driver.Rules, b driver.Beats, v []driver.Visit) (driver.Visited, error) {
	return f.current().Visit(ctx, event, r, b, v)
}

func (f *fragile) Look(ctx context.Context, event string, r driver.Rules, epoch, version uint64) (driver.View, error) {
	return f.current().Look(ctx, event, r, epoch, version)
}

func (f *fragile) Admit(ctx context.Context, event string, r driver.Rules) (driver.Admission, error) {
	return f.current().Admit(ctx, event, r)
}

func (f *fragile) Sweep(ctx context.Context, event string, r driver.Rules, from int64) (driver.Swept, error) {
	return f.current().Sweep(ctx, event, r, from)
}

func (f *fragile) Change(ctx context.Context, event string, r driver.Rules, c driver.Change) (driver.State, error) {
	return f.current().Change(ctx, event, r, c)
}

func (f *fragile) Draw(ctx context.Context, event string, r driver.Rules, s driver.DrawStep) (driver.Drawn, error) {
	return f.current().Draw(ctx, event, r, s)
}

func (f *fragile) Events(ctx context.Context) ([]string, error) { return f.current().Events(ctx) }

func (f *fragile) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.passes != nil {
		return f.now.Add(f.passes())
	}
	return f.now
}

func (f *fragile) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func (f *fragile) lose(context.Context) error {
	s, err := memqueue.New(memqueue.Config{Now: f.clock})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.store = s
	return err
}

func harness(t testing.TB) queuetest.Harness {
	t.Helper()
	f := &fragile{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	require.NoError(t, f.lose(t.Context()))
	return queuetest.Harness{Store: f, Advance: f.advance, Lose: f.lose}
}

func TestConformance(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) queuetest.Harness { return harness(t) })
}

// The suite also holds on a clock that runs by itself.
func TestConformanceWhileTimePasses(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) queuetest.Harness {
		h, start := harness(t), time.Now()
		f := h.Store.(*fragile)
		f.passes = func() time.Duration { return time.Since(start) }
		return h
	})
}

// This test notices a case that drops out of the suite.
func TestNothingIsMissing(t *testing.T) {
	require.Empty(t, queuetest.Suite().NotApplicable(harness(t)))
}
