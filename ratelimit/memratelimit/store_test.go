package memratelimit_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
	"github.com/millrace-go/millrace/ratelimit/ratelimittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fragile is a store whose state can be lost.
type fragile struct {
	mu    sync.Mutex
	now   time.Time
	store driver.Store
}

func (f *fragile) current() driver.Store {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.store
}

func (f *fragile) Acquire(ctx context.Context, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
	return f.current().Acquire(ctx, p, a)
}

func (f *fragile) Return(ctx context.Context, p *driver.Plan, r driver.Returned) error {
	return f.current().Return(ctx, p, r)
}

func (f *fragile) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fragile) move(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func (f *fragile) lose(context.Context) error {
	s := memratelimit.NewAt(f.clock)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.store = s
	return nil
}

func harness(t *testing.T) ratelimittest.Harness {
	t.Helper()
	f := &fragile{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	require.NoError(t, f.lose(t.Context()))
	return ratelimittest.Harness{Store: f, Move: f.move, Lose: f.lose}
}

func TestConformance(t *testing.T) { ratelimittest.Run(t, harness) }

// TestNotApplicable: no case may be skipped unnoticed; state in memory has one server.
func TestNotApplicable(t *testing.T) {
	require.Equal(t, []string{"another-server"}, ratelimittest.Suite().NotApplicable(harness(t)))
}

func plan(t testing.TB, l ratelimit.Limits) *driver.Plan {
	t.Helper()
	p, err := l.Plan()
	require.NoError(t, err)
	return p
}

// TestClockIsMonotonic: by default a store counts elapsed time.
func TestClockIsMonotonic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memratelimit.New()
		p := plan(t, ratelimit.Limits{HardLimit: 500, Rate: 100})
		ask := driver.Ask{Runs: []driver.Run{{Priority: driver.High, Size: 1, Count: 1000}}}
		first, err := s.Acquire(t.Context(), p, ask)
		require.NoError(t, err)
		if first.At != time.Now().UnixMicro() || first.Runs[0].Granted != 0 {
			t.Errorf("at %s: %+v", time.Now(), first)
		}
		time.Sleep(70 * time.Millisecond)
		g, err := s.Acquire(t.Context(), p, ask)
		require.NoError(t, err)
		if g.At-first.At != 70_000 || g.Runs[0].Granted != 7 {
			t.Errorf("70 ms later: %+v", g)
		}
	})
}
