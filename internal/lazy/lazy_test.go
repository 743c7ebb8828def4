package lazy_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/lazy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errClosed = errors.New("closed")

// got is the result of one caller.
type got struct {
	n   int
	err error
}

func get(ctx context.Context, v *lazy.Value[int]) chan got {
	out := make(chan got, 1)
	go func() {
		n, err := v.Get(ctx)
		out <- got{n, err}
	}()
	return out
}

func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		release := make(chan struct{})
		v := lazy.New(errClosed, func(context.Context) (int, error) {
			<-release
			return int(calls.Add(1)), nil
		})
		_, ok := v.Made()
		require.False(t, ok)
		a, b := get(t.Context(), v), get(t.Context(), v)
		synctest.Wait()
		close(release)
		require.Equal(t, got{1, nil}, <-a)
		require.Equal(t, got{1, nil}, <-b)
		require.Equal(t, got{1, nil}, <-get(t.Context(), v))
		n, ok := v.Made()
		require.True(t, ok)
		require.Equal(t, 1, n)
	})
}

// TestOnce: a caller that checks just before the value is made does not make another one.
func TestOnce(t *testing.T) {
	for range 5000 {
		var calls atomic.Int32
		v := lazy.New(errClosed, func(context.Context) (int, error) { return int(calls.Add(1)), nil })
		var all []chan got
		for range 8 {
			all = append(all, get(t.Context(), v))
		}
		for _, c := range all {
			require.Equal(t, got{1, nil}, <-c)
		}
	}
}

func TestRetried(t *testing.T) {
	bad, calls := errors.New("bad"), 0
	v := lazy.New(errClosed, func(context.Context) (int, error) {
		if calls++; calls < 3 {
			return 0, bad
		}
		return calls, nil
	})
	for range 2 {
		_, err := v.Get(t.Context())
		require.ErrorIs(t, err, bad)
	}
	n, err := v.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, n)
}

type key struct{}

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		v := lazy.New(errClosed, func(ctx context.Context) (int, error) {
			select {
			case <-release:
				return ctx.Value(key{}).(int), nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		ended, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, 7))
		first := get(ended, v)
		synctest.Wait()
		second := get(t.Context(), v)
		synctest.Wait()
		cancel()
		require.ErrorIs(t, (<-first).err, context.Canceled)
		close(release)
		require.Equal(t, got{7, nil}, <-second, "the first caller has left, and its attempt goes on for the second")
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		require.Equal(t, got{7, nil}, <-get(cancelled, v), "what is there needs no wait")
	})
}

// A caller that arrives while an abandoned attempt ends gets an attempt of its own.
func TestAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		v := lazy.New(errClosed, func(ctx context.Context) (int, error) {
			if calls.Add(1) > 1 {
				return 2, nil
			}
			<-ctx.Done()
			time.Sleep(time.Second) // it takes a while to notice
			return 0, ctx.Err()
		})
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, (<-get(short, v)).err, context.DeadlineExceeded)
		require.Equal(t, got{2, nil}, <-get(t.Context(), v))
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := lazy.New(errClosed, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		waiting := get(t.Context(), v)
		synctest.Wait()
		_, ok := v.Close()
		require.False(t, ok)
		require.ErrorIs(t, (<-waiting).err, errClosed)
		_, err := v.Get(t.Context())
		require.ErrorIs(t, err, errClosed)

		late := lazy.New(errClosed, func(context.Context) (int, error) {
			time.Sleep(time.Second)
			return 3, nil
		})
		waiting = get(t.Context(), late)
		synctest.Wait()
		n, ok := late.Close()
		require.True(t, ok, "what was made in spite of it is there to be closed")
		require.Equal(t, 3, n)
		require.Equal(t, got{3, nil}, <-waiting)
	})
}
