package memgate_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/frontgate/frontgatetest"
	"github.com/millrace-go/millrace/queue/frontgate/memgate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fragile is a store that can lose its data.
type fragile struct {
	driver.Store
	mu  sync.Mutex
	now time.Time
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
	s, err := memgate.New(memgate.Config{Now: f.clock})
	f.Store = s
	return err
}

func harness(t *testing.T) frontgatetest.Harness {
	t.Helper()
	f := &fragile{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	require.NoError(t, f.lose(t.Context()))
	return frontgatetest.Harness{Store: f, Move: f.move, Lose: f.lose, Expires: true}
}

func TestConformance(t *testing.T) { frontgatetest.Run(t, harness) }

// Nothing in the suite is n/a.
func TestNotApplicable(t *testing.T) {
	require.Empty(t, frontgatetest.Suite().NotApplicable(harness(t)))
}

// By default a store counts the time that passes, not the wall clock.
func TestClockIsMonotonic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := memgate.New(memgate.Config{})
		require.NoError(t, err)
		_, err = s.Switch(t.Context(), "show-1", true)
		require.NoError(t, err)
		for i, want := range []time.Duration{10 * time.Second, 10 * time.Second, 6 * time.Second, 10 * time.Second} {
			r, err := s.Advance(t.Context(), "show-1", 1, 10*time.Second)
			require.NoError(t, err)
			if r.Next != want || !r.Now.Equal(time.Now()) {
				t.Errorf("round %d at %s: %+v, want the next in %s", i, time.Now(), r, want)
			}
			time.Sleep([]time.Duration{10, 4, 6, 0}[i] * time.Second)
		}
	})
}

func TestManyCallers(t *testing.T) {
	s, err := memgate.New(memgate.Config{})
	require.NoError(t, err)
	_, err = s.Switch(t.Context(), "show-1", true)
	require.NoError(t, err)
	var all sync.WaitGroup
	given := make([][]int64, 16)
	for i := range given {
		all.Go(func() {
			for range 500 {
				a, err := s.Assign(t.Context(), "show-1", 1)
				if err != nil {
					t.Error(err)
					return
				}
				given[i] = append(given[i], a.Assigned)
			}
		})
	}
	all.Wait()
	every := slices.Sorted(slices.Values(slices.Concat(given...)))
	for i, position := range every {
		if position != int64(i)+1 {
			t.Fatalf("the %d. of %d positions is %d", i+1, len(every), position)
		}
	}
}
