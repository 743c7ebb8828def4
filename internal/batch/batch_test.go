package batch_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/batch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// double answers after a second, and records its requests.
type double struct {
	mu    sync.Mutex
	calls [][]int
	err   error
}

func (d *double) call(ctx context.Context, requests []int) ([]int, error) {
	d.mu.Lock()
	d.calls = append(d.calls, requests)
	err := d.err
	d.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	answers := make([]int, 0, len(requests))
	for _, n := range requests {
		answers = append(answers, 2*n)
	}
	return answers, err
}

// crowd calls with 1 … n, one after the other, while the first call is under way.
func crowd(t *testing.T, c *batch.Combiner[int, int], n int, ctx func(int) context.Context) []error {
	t.Helper()
	errs := make([]error, n+1)
	var all sync.WaitGroup
	for i := 1; i <= n; i++ {
		all.Go(func() {
			got, err := c.Do(ctx(i), i)
			if errs[i] = err; err == nil && got != 2*i {
				t.Errorf("the answer to %d is %d", i, got)
			}
		})
		synctest.Wait()
	}
	all.Wait()
	return errs
}

func background(int) context.Context { return context.Background() }

// bothWays runs a test with callers that cannot leave, which make calls themselves, and with
// callers that can.
func bothWays(t *testing.T, test func(t *testing.T, ctx func(int) context.Context)) {
	t.Run("stay", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, background) })
	})
	t.Run("may leave", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, func(int) context.Context { return t.Context() }) })
	})
}

func TestThoseWhoComeMeanwhileShareTheNextCall(t *testing.T) {
	bothWays(t, func(t *testing.T, ctx func(int) context.Context) {
		d := &double{}
		for i, err := range crowd(t, batch.New(3, time.Minute, d.call), 6, ctx) {
			assert.NoErrorf(t, err, "caller %d", i)
		}
		if want := [][]int{{1}, {2, 3, 4}, {5, 6}}; !slices.EqualFunc(d.calls, want, slices.Equal) {
			t.Errorf("calls %v, want %v", d.calls, want)
		}
	})
}

func TestCallsOverlapForEnoughCallers(t *testing.T) {
	bothWays(t, func(t *testing.T, ctx func(int) context.Context) {
		d := &double{}
		start := time.Now()
		for i, err := range crowd(t, batch.New(3, time.Minute, d.call).Overlap(2, 2), 7, ctx) {
			assert.NoErrorf(t, err, "caller %d", i)
		}
		// 1 alone; 2 and 3 are enough for a second call, and there is no third. The call that
		// ends first takes three at once, the other takes the last alone.
		slices.SortFunc(d.calls, slices.Compare)
		if want := [][]int{{1}, {2, 3}, {4, 5, 6}, {7}}; !slices.EqualFunc(d.calls, want, slices.Equal) {
			t.Errorf("calls %v, want %v", d.calls, want)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%v", took)
		}
	})
}

func TestLimitBoundsTheWeight(t *testing.T) {
	bothWays(t, func(t *testing.T, ctx func(int) context.Context) {
		d := &double{}
		c := batch.New(3, time.Minute, d.call).Limit(9, func(n int) int { return n })
		for i, err := range crowd(t, c, 10, ctx) {
			assert.NoErrorf(t, err, "caller %d", i)
		}
		// 10 is above the limit by itself, and is sent alone.
		if want := [][]int{{1}, {2, 3, 4}, {5}, {6}, {7}, {8}, {9}, {10}}; !slices.EqualFunc(d.calls, want, slices.Equal) {
			t.Errorf("calls %v, want %v", d.calls, want)
		}
	})
}

// A caller whose context ends returns at once: from the queue with nothing sent, from a
// call with ErrUnknown. The others get their answers.
func TestCallersLeaveAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &double{}
		gone := errors.New("gone")
		short := func(i int) context.Context {
			for n, after := range map[int]time.Duration{1: 500, 3: 500, 4: 1500} {
				if i == n {
					ctx, cancel := context.WithTimeoutCause(context.Background(), after*time.Millisecond, gone)
					t.Cleanup(cancel)
					return ctx
				}
			}
			return context.Background()
		}
		start := time.Now()
		c := batch.New(10, time.Minute, d.call)
		for i, err := range crowd(t, c, 5, short) {
			left, unknown := i == 1 || i == 3 || i == 4, i == 1 || i == 4
			if errors.Is(err, gone) != left || errors.Is(err, batch.ErrUnknown) != unknown || (err != nil) != left {
				t.Errorf("caller %d: %v", i, err)
			}
		}
		if want := [][]int{{1}, {2, 4, 5}}; !slices.EqualFunc(d.calls, want, slices.Equal) || time.Since(start) != 2*time.Second {
			t.Errorf("calls %v in %v, want %v in 2s", d.calls, time.Since(start), want)
		}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := c.Do(ended, 6); !errors.Is(err, context.Canceled) || errors.Is(err, batch.ErrUnknown) || len(d.calls) != 2 {
			t.Errorf("with an ended context: %v after %v", err, d.calls)
		}
	})
}

// The last caller of a call may leave at the moment the call ends: it has its answer, or gets
// ErrUnknown, and the next request is served.
func TestLeavingAtTheEnd(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			answer := make(chan struct{})
			c := batch.New(10, time.Minute, func(_ context.Context, requests []int) ([]int, error) {
				<-answer
				return requests, nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			all.Go(func() {
				if got, err := c.Do(ctx, 1); err == nil && got != 1 || err != nil && !errors.Is(err, batch.ErrUnknown) {
					t.Errorf("the answer is %d, %v", got, err)
				}
			})
			synctest.Wait()
			go cancel()
			close(answer)
			all.Wait()
			if got, err := c.Do(t.Context(), 2); err != nil || got != 2 {
				t.Errorf("the next answer is %d, %v", got, err)
			}
		})
	}
}

type key struct{}

// A call has the values of its first request's context.
func TestACallHasValues(t *testing.T) {
	c := batch.New(10, 0, func(ctx context.Context, requests []int) ([]any, error) { return []any{ctx.Value(key{})}, nil })
	got, err := c.Do(context.WithValue(t.Context(), key{}, "value"), 1)
	if err != nil || got != "value" {
		t.Errorf("the value is %v, %v", got, err)
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &double{}
		c := batch.New(10, time.Minute, d.call)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		start := time.Now()
		if _, err := c.Do(ctx, 1); !errors.Is(err, batch.ErrUnknown) {
			t.Error(err)
		}
		c.Wait()
		if took := time.Since(start); took != time.Second {
			t.Errorf("waited %v for a call of 1s", took)
		}
	})
}

func TestAFailedCallFailsAllItServed(t *testing.T) {
	bothWays(t, func(t *testing.T, ctx func(int) context.Context) {
		d := &double{err: errors.New("away")}
		for i, err := range crowd(t, batch.New(10, time.Minute, d.call), 3, ctx)[1:] {
			if !errors.Is(err, d.err) {
				t.Errorf("caller %d: %v", i+1, err)
			}
		}
	})
}

func TestACallIsBounded(t *testing.T) {
	bothWays(t, func(t *testing.T, ctx func(int) context.Context) {
		d := &double{}
		start := time.Now()
		for i, err := range crowd(t, batch.New(10, 100*time.Millisecond, d.call), 2, ctx)[1:] {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("caller %d: %v", i+1, err)
			}
		}
		assert.Equal(t, 200*time.Millisecond, time.Since(start), "two calls of 100 ms took")
	})
}

// A call that does not return fails its own requests, and the next call is made.
func TestACallThatDoesNotReturn(t *testing.T) {
	for name, end := range map[string]func(){"panics": func() { panic("broken") }, "ends its goroutine": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			// A caller that makes the call itself ends with its goroutine.
			synctest.Test(t, func(t *testing.T) {
				first := true
				c := batch.New(10, time.Minute, func(_ context.Context, requests []int) ([]int, error) {
					time.Sleep(time.Second)
					if first {
						first = false
						end()
					}
					return []int{4, 6}, nil
				})
				errs := crowd(t, c, 3, func(int) context.Context { return t.Context() })
				if errs[1] == nil || errs[2] != nil || errs[3] != nil {
					t.Errorf("the errors are %v, want one for the first caller", errs[1:])
				}
			})
		})
	}
}

func TestAMissingAnswerIsAnError(t *testing.T) {
	c := batch.New(10, time.Minute, func(context.Context, []int) ([]int, error) { return nil, nil })
	if _, err := c.Do(t.Context(), 1); err == nil {
		t.Error("no error")
	}
}

func BenchmarkAlone(b *testing.B) {
	c := batch.New(10, time.Minute, func(_ context.Context, requests []int) ([]int, error) { return requests, nil })
	for b.Loop() {
		if _, err := c.Do(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
	}
}
