package signal_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
)

// A loop calls its step at once, when the time of the last step has passed and when it is woken,
// and ends with its context.
func TestRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		wake := signal.New()
		var ended atomic.Bool
		var next, calls atomic.Int64
		next.Store(int64(time.Second))
		go func() {
			wake.Repeat(ctx, func(context.Context) time.Duration {
				calls.Add(1)
				return time.Duration(next.Load())
			})
			ended.Store(true)
		}()
		synctest.Wait()
		require.EqualValues(t, 1, calls.Load(), "at once")
		time.Sleep(time.Second + time.Millisecond)
		require.EqualValues(t, 2, calls.Load(), "after the time of the step")
		next.Store(int64(signal.Never))
		wake.Wake()
		synctest.Wait()
		require.EqualValues(t, 3, calls.Load(), "woken")
		time.Sleep(24 * time.Hour)
		require.EqualValues(t, 3, calls.Load(), "only a wake-up repeats such a step")
		cancel()
		synctest.Wait()
		require.True(t, ended.Load())
	})
}

func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		calls := 0
		signal.Every(ctx, time.Second, func(context.Context) { calls++ })
		require.Equal(t, 3, calls)
	})
}
