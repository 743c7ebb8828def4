package gather_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/gather"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// double answers after a second, and records what it was asked.
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

// crowd calls with 1 … n, one after the other, while the first is under way.
func crowd(t *testing.T, c *gather.Calls[int, int], n int, ctx func(int) context.Context) []error {
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

func TestThoseWhoComeMeanwhileShareTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &double{}
		for i, err := range crowd(t, gather.New(3, time.Minute, d.call), 6, background) {
			if err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		}
		if want := [][]int{{1}, {2, 3, 4}, {5, 6}}; !slices.EqualFunc(d.calls, want, slices.Equal) {
			t.Errorf("calls %v, want %v", d.calls, want)
		}
	})
}

func TestCallsOverlapForEnoughCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &double{}
		start := time.Now()
		for i, err := range crowd(t, gather.New(3, time.Minute, d.call).Overlap(2, 2), 7, background) {
			if err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		}
		// 1 alone; 2 and 3 are enough for a second call, and there is no third. The
		// call that ends first takes three at once, the other the last alone.
		slices.SortFunc(d.calls, slices.Compare)
		if want := [][]int{{1}, {2, 3}, {4, 5, 6}, {7}}; !slices.EqualFunc(d.calls, want, slices.Equal) {
			t.Errorf("calls %v, want %v", d.calls, want)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%v", took)
		}
	})
}

// A leader that is told to lead and to leave at the same moment may do either, and
// so may those it would have led: the call goes to the first who stayed, or to
// who comes next.
func TestALeaderThatLeavesHandsItsBatchOn(t *testing.T) {
	for _, leaving := range [][]int{{2}, {2, 3}, {3, 2}, {2, 3, 4}, {4, 3, 2}} {
		left := 0
		for range 200 {
			synctest.Test(t, func(t *testing.T) {
				answer := make(chan struct{})
				c := gather.New(10, time.Minute, func(_ context.Context, requests []int) ([]int, error) {
					<-answer
					return requests, nil
				})
				var leave []context.CancelFunc
				var mu sync.Mutex
				gone := map[int]bool{}
				ask := func(ctx context.Context, i int) {
					got, err := c.Do(ctx, i)
					switch {
					case errors.Is(err, context.Canceled) && slices.Contains(leaving, i):
						mu.Lock()
						gone[i] = true
						mu.Unlock()
					case err != nil || got != i:
						t.Errorf("caller %d: %d, %v", i, got, err)
					}
				}
				ctxs := map[int]context.Context{}
				for _, i := range leaving {
					ctx, cancel := context.WithCancel(t.Context())
					ctxs[i], leave = ctx, append(leave, cancel)
				}
				var all sync.WaitGroup
				for i := 1; i <= 4; i++ {
					ctx := ctxs[i]
					if ctx == nil {
						ctx = t.Context()
					}
					all.Go(func() { ask(ctx, i) })
					synctest.Wait()
				}
				for _, cancel := range leave {
					go cancel()
				}
				close(answer)
				all.Wait()
				// Nobody holds a call that is not made.
				ask(t.Context(), 5)
				if gone[leaving[0]] {
					left++
				}
			})
		}
		t.Logf("of %v the first left %d times of 200", leaving, left)
	}
}

func TestWhoLeavesTakesNobodyAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &double{}
		short := func(i int) context.Context {
			if i%2 == 1 { // the first leader, one in the queue, and one that is taken
				ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
				t.Cleanup(cancel)
				return ctx
			}
			return context.Background()
		}
		errs := crowd(t, gather.New(10, time.Minute, d.call), 5, short)
		for i, err := range errs {
			left := i == 3 || i == 5
			if left != errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("caller %d: %v", i, err)
			}
		}
		// The first caller's context ended while its call was under way, which it
		// saw to its end.
		if want := [][]int{{1}, {2, 4}}; !slices.EqualFunc(d.calls, want, slices.Equal) {
			t.Errorf("calls %v, want %v", d.calls, want)
		}
	})
}

func TestALeaderThatLeavesHandsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &double{}
		// The second caller's context ends at the moment the first call does.
		exactly := func(i int) context.Context {
			if i != 2 {
				return context.Background()
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			t.Cleanup(cancel)
			return ctx
		}
		for i, err := range crowd(t, gather.New(1, time.Minute, d.call), 4, exactly) {
			if err != nil && i != 2 {
				t.Errorf("caller %d: %v", i, err)
			}
		}
	})
}

func TestAFailedCallFailsAllItServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &double{err: errors.New("away")}
		for i, err := range crowd(t, gather.New(10, time.Minute, d.call), 3, background)[1:] {
			if !errors.Is(err, d.err) {
				t.Errorf("caller %d: %v", i+1, err)
			}
		}
	})
}

func TestACallIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &double{}
		start := time.Now()
		for i, err := range crowd(t, gather.New(10, 100*time.Millisecond, d.call), 2, background)[1:] {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("caller %d: %v", i+1, err)
			}
		}
		if took := time.Since(start); took != 200*time.Millisecond {
			t.Errorf("two calls of 100 ms took %v", took)
		}
	})
}

func TestAPanicFreesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := gather.New(10, time.Minute, func(context.Context, []int) ([]int, error) {
			time.Sleep(time.Second)
			panic("broken")
		})
		for i, err := range crowd(t, c, 3, background)[1:] {
			if err == nil {
				t.Errorf("caller %d got an answer", i+1)
			}
		}
	})
}

func TestAMissingAnswerIsAnError(t *testing.T) {
	c := gather.New(10, time.Minute, func(context.Context, []int) ([]int, error) { return nil, nil })
	if _, err := c.Do(context.Background(), 1); err == nil {
		t.Error("no error")
	}
}
