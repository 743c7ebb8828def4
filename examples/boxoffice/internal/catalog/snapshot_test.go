package catalog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var truth, loads atomic.Int64
		truth.Store(1)
		s := newSnapshot(func(context.Context) (int64, error) {
			loads.Add(1)
			v := truth.Load()
			time.Sleep(5 * time.Millisecond) // later changes are not seen
			return v, nil
		})
		get := func() int64 {
			v, err := s.get(t.Context())
			assert.NoError(t, err)
			return v
		}
		// Many readers, one load.
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				assert.EqualValues(t, 1, get())
			})
		}
		wg.Wait()
		assert.EqualValues(t, 1, loads.Load(), "loads for 50 readers at once")
		// Fresh enough: no load. Old: another process may have changed it.
		get()
		assert.EqualValues(t, 1, loads.Load(), "loads of a fresh value")
		truth.Store(2)
		time.Sleep(maxAge)
		if v := get(); v != 2 || loads.Load() != 2 {
			t.Errorf("after maxAge got %d with %d loads", v, loads.Load())
		}
		// A reader after a change sees it, even while a load that began before the change
		// is still in flight.
		time.Sleep(maxAge)
		began := make(chan struct{})
		wg.Go(func() { close(began); get() })
		<-began
		time.Sleep(time.Millisecond)
		truth.Store(3)
		s.invalidate()
		assert.EqualValues(t, 3, get(), "after the change")
		wg.Wait()
		// A storm of changes loads at most once per gap.
		loads.Store(0)
		start := time.Now()
		for range 100 {
			truth.Add(1)
			s.invalidate()
			assert.Equal(t, truth.Load(), get())
		}
		if most := int64(time.Since(start)/minGap) + 1; loads.Load() > most {
			t.Errorf("%d loads in %v", loads.Load(), time.Since(start))
		}
	})
}

func TestSnapshotError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		err := broken
		s := newSnapshot(func(context.Context) (int, error) { return 7, err })
		if _, got := s.get(t.Context()); !errors.Is(got, broken) {
			t.Errorf("got %v", got)
		}
		err = nil
		if v, got := s.get(t.Context()); v != 7 || got != nil {
			t.Errorf("after the failure got %d, %v", v, got)
		}
		// A reader may leave while others load.
		s = newSnapshot(func(context.Context) (int, error) { time.Sleep(time.Second); return 8, nil })
		var wg sync.WaitGroup
		wg.Go(func() { s.get(t.Context()) }) //nolint:errcheck // the other one is tested
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, got := s.get(ctx); !errors.Is(got, context.DeadlineExceeded) {
			t.Errorf("got %v", got)
		}
		wg.Wait()
	})
}
