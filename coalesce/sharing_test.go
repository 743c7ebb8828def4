package coalesce_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/driver"
)

// crowd counts the outcomes of many concurrent callers.
type crowd struct {
	again    bool // they ask for one more run
	wg       sync.WaitGroup
	mu       sync.Mutex
	outcomes map[driver.Outcome]int
	tickets  map[coalesce.Ticket]bool
	errs     []error
}

func (w *crowd) ask(ctx context.Context, c *coalesce.Coalescer, n int, p coalesce.Priority) {
	request := c.Request
	if w.again {
		request = c.Again
	}
	for range n {
		w.wg.Go(func() {
			d, err := request(ctx, "k", p)
			w.mu.Lock()
			defer w.mu.Unlock()
			if err != nil {
				w.errs = append(w.errs, err)
				return
			}
			if w.outcomes == nil {
				w.outcomes, w.tickets = map[driver.Outcome]int{}, map[coalesce.Ticket]bool{}
			}
			w.outcomes[d.Outcome]++
			w.tickets[d.Ticket] = true
		})
	}
}

// held is a store whose requests block until they are released, one at a time.
func held() (*watched, chan struct{}) {
	free := make(chan struct{})
	return watch(func(ctx context.Context, what string) error {
		if what != "request" {
			return nil
		}
		select {
		case <-free:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}), free
}

// TestSharing: callers that arrive during a call are all answered by the next one, because the
// call in flight may be out of date. Here the lock is released between the two.
func TestSharing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, free := held()
		c := newCoalescer(t, s, coalesce.Config{Timeout: time.Hour})
		var first, others crowd
		first.ask(t.Context(), c, 1, coalesce.Low)
		synctest.Wait()
		others.ask(t.Context(), c, 99, coalesce.Low)
		synctest.Wait()
		free <- struct{}{}
		first.wg.Wait()
		for ticket := range first.tickets {
			if released, err := c.Release(t.Context(), ticket.Key, ticket.Priority, ticket.Version); !released || err != nil {
				t.Fatal(released, err)
			}
		}
		synctest.Wait() // the next call has begun
		s.calls.Store(0)
		free <- struct{}{}
		others.wg.Wait()
		if first.outcomes[coalesce.Published] != 1 || others.outcomes[coalesce.Published] != 1 || others.outcomes[coalesce.AlreadyProcessing] != 98 {
			t.Errorf("the first: %v; the others: %v", first.outcomes, others.outcomes)
		}
		assert.Lenf(t, others.tickets, 1, "the others were told of %v; want one ticket", others.tickets)
		if n := s.calls.Load(); n != 0 {
			t.Errorf("the 98 made %d calls besides the one they share", n)
		}
		if got := c.Stats(); got.Published != 2 || got.Coalesced != 98 {
			t.Errorf("%+v", got)
		}
	})
}

// TestSharingKeepsQuestionsApart: a high request does not wait for a low one, nor for a request
// with Again: those are other questions.
func TestSharingKeepsQuestionsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, free := held()
		c := newCoalescer(t, s, coalesce.Config{Timeout: time.Hour})
		low, high, again := crowd{}, crowd{}, crowd{again: true}
		low.ask(t.Context(), c, 3, coalesce.Low)
		high.ask(t.Context(), c, 3, coalesce.High)
		again.ask(t.Context(), c, 3, coalesce.Low)
		synctest.Wait()
		assert.EqualValues(t, 5, s.calls.Load(), "calls under way, want one of low, one of high and three that leave a mark")
		close(free)
		low.wg.Wait()
		high.wg.Wait()
		again.wg.Wait()
		n := high.outcomes[coalesce.Published] + high.outcomes[coalesce.Upgraded]
		if n != 1 || len(low.errs)+len(high.errs)+len(again.errs) != 0 {
			t.Errorf("low %v, high %v, again %v", low.outcomes, high.outcomes, again.outcomes)
		}
	})
}

// TestSharingSurvivesWhoLeaves: a cancelled caller does not cancel others, whether it makes the
// call for all or waits.
func TestSharingSurvivesWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, free := held()
		c := newCoalescer(t, s, coalesce.Config{Timeout: time.Hour})
		leave, cancel := context.WithCancel(t.Context())
		var gone, first, stay crowd
		first.ask(t.Context(), c, 1, coalesce.Low)
		synctest.Wait()
		gone.ask(leave, c, 1, coalesce.Low) // its turn is next
		synctest.Wait()
		stay.ask(t.Context(), c, 5, coalesce.Low)
		gone.ask(leave, c, 5, coalesce.Low)
		synctest.Wait()
		free <- struct{}{} // the first call returns, and the call of the leaving caller begins
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(free)
		gone.wg.Wait()
		stay.wg.Wait()
		first.wg.Wait()
		if len(gone.errs) != 6 || !errors.Is(gone.errs[0], context.Canceled) {
			t.Errorf("those who left: %v %v", gone.outcomes, gone.errs)
		}
		if stay.outcomes[coalesce.AlreadyProcessing] != 5 || len(stay.errs) != 0 {
			t.Errorf("those who stayed: %v %v", stay.outcomes, stay.errs)
		}
	})
}

// TestSharingSharesErrors: an error of the shared call is returned to all its callers, and the
// next caller starts a new call.
func TestSharingSharesErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan error)
		s := watch(func(context.Context, string) error { return <-free })
		c := newCoalescer(t, s, coalesce.Config{Timeout: time.Hour, BreakerCalls: 1000})
		var first, others crowd
		first.ask(t.Context(), c, 1, coalesce.Low)
		synctest.Wait()
		others.ask(t.Context(), c, 10, coalesce.Low)
		synctest.Wait()
		free <- errDown
		free <- errDown
		first.wg.Wait()
		others.wg.Wait()
		if len(first.errs) != 1 || len(others.errs) != 10 || !errors.Is(others.errs[9], coalesce.ErrUnavailable) {
			t.Errorf("%d and %d errors, want all: %v", len(first.errs), len(others.errs), others.errs)
		}
		assert.EqualValues(t, 2, s.calls.Load(), "calls")
		var next crowd
		next.ask(t.Context(), c, 1, coalesce.Low)
		free <- nil
		if next.wg.Wait(); next.outcomes[coalesce.Published] != 1 {
			t.Errorf("afterwards: %v %v", next.outcomes, next.errs)
		}
	})
}
