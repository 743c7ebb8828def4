package coalesce_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/fault"
)

func TestNewChecks(t *testing.T) {
	if _, err := coalesce.New(nil, coalesce.Config{}); err == nil || !strings.Contains(err.Error(), "store is nil") {
		t.Errorf("no store: %v", err)
	}
	for name, cfg := range map[string]coalesce.Config{
		"HighTTL": {HighTTL: -1}, "LowTTL": {LowTTL: time.Microsecond}, "Timeout": {Timeout: -1},
		"VersionTTL": {LowTTL: time.Hour}, "BreakerCalls": {BreakerCalls: -1},
		"BreakerRatio": {BreakerRatio: 1.5}, "BreakerWindow": {BreakerWindow: -1},
		"BreakerOpenFor": {BreakerOpenFor: -1}, "BreakerTrials": {BreakerTrials: -1},
	} {
		if _, err := coalesce.New(memcoalesce.New(), cfg); err == nil || !strings.Contains(err.Error(), "Config."+name) {
			t.Errorf("%+v: %v, want an error about %s", cfg, err, name)
		}
	}
}

// TestTimeout: every method stops waiting for a store that does not answer after
// Config.Timeout.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watch(func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() })
		c := newCoalescer(t, s, coalesce.Config{Timeout: 200 * time.Millisecond})
		for name, call := range map[string]func() error{
			"Request":  func() error { _, err := c.Request(t.Context(), "k", coalesce.Low); return err },
			"Again":    func() error { _, err := c.Again(t.Context(), "k", coalesce.Low); return err },
			"Release":  func() error { _, err := c.Release(t.Context(), "k", coalesce.Low, 1); return err },
			"Sequence": func() error { _, err := c.Sequence(t.Context(), "k"); return err },
		} {
			began := time.Now()
			if err := call(); !errors.Is(err, coalesce.ErrUnavailable) || fault.Of(err) != fault.Infrastructure {
				t.Errorf("%s: %v (%v), want ErrUnavailable", name, err, fault.Of(err))
			}
			if took := time.Since(began); took != 200*time.Millisecond {
				t.Errorf("%s took %v, want the timeout", name, took)
			}
		}
	})
}

// TestBreaker: half of ten calls fail: the store is not called for 30 s, then five trials
// decide.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var changes []string
		s := watch(func(context.Context, string) error {
			if down.Load() {
				return errDown
			}
			return nil
		})
		refused := 0
		c := newCoalescer(t, s, coalesce.Config{
			OnBreaker: func(from, to string) { changes = append(changes, from+" to "+to) },
			OnRefused: func(string, error) { refused++ },
		})
		ask := func(n int) (refusals int) {
			for range n {
				_, err := c.Request(t.Context(), "k", coalesce.Low)
				switch {
				case errors.Is(err, coalesce.ErrUnavailable) && fault.Of(err) == fault.Infrastructure:
					refusals++
				case err != nil:
					t.Error(err)
				}
			}
			return refusals
		}
		require.Equal(t, 0, ask(5), "refused while the store is up")
		down.Store(true)
		require.Equal(t, 5, ask(5), "of 5 refused")
		asked := s.calls.Load()
		if n := ask(100); n != 100 || s.calls.Load() != asked {
			t.Errorf("%d of 100 refused with an open breaker, and %d calls made", n, s.calls.Load()-asked)
		}
		time.Sleep(29 * time.Second)
		if ask(1); s.calls.Load() != asked {
			t.Error("the store was asked before the breaker's time")
		}
		time.Sleep(2 * time.Second)
		if n := ask(10); n != 10 || s.calls.Load() != asked+1 {
			t.Errorf("still down: %d refused, %d trials; want 10 and one", n, s.calls.Load()-asked)
		}
		down.Store(false)
		time.Sleep(31 * time.Second)
		if n := ask(20); n != 0 {
			t.Errorf("up again: %d refused", n)
		}
		wanted := []string{"closed to open", "open to half-open", "half-open to open", "open to half-open", "half-open to closed"}
		if !slices.Equal(changes, wanted) {
			t.Errorf("the breaker went %v, want %v", changes, wanted)
		}
		if n := c.Stats().Refused; n != int64(refused) || n != 116 {
			t.Errorf("%d refusals counted, %d reported; want 116", n, refused)
		}
	})
}

// TestBreakerIgnoresCallers: errors that show nothing about the store do not open the breaker:
// cancelled calls, very short deadlines, wrong arguments, errors of the store's own logic.
func TestBreakerIgnoresCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := errors.New("ERR something")
		s := watch(func(ctx context.Context, _ string) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(50 * time.Millisecond):
				return answer
			}
		})
		c := newCoalescer(t, s, coalesce.Config{})
		for range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(10*time.Millisecond, cancel)
			if _, err := c.Request(ctx, "k", coalesce.Low); !errors.Is(err, context.Canceled) || errors.Is(err, coalesce.ErrUnavailable) {
				t.Errorf("cancelled: %v", err)
			}
			ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
			if _, err := c.Request(ctx, "k", coalesce.Low); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, coalesce.ErrUnavailable) {
				t.Errorf("impatient: %v", err)
			}
			cancel()
			if _, err := c.Request(t.Context(), "k", coalesce.Low); !errors.Is(err, answer) || errors.Is(err, coalesce.ErrUnavailable) {
				t.Errorf("an answer: %v", err)
			}
			if _, err := c.Request(t.Context(), "", coalesce.Low); !errors.Is(err, driver.ErrEmptyKey) {
				t.Errorf("no key: %v", err)
			}
			if _, err := c.Request(t.Context(), "k", "high"); fault.Of(err) != fault.Permanent {
				t.Errorf("no priority: %v", err)
			}
		}
		assert.Equal(t, "closed", c.Stats().Breaker, "the breaker")
		// Callers with a short but sufficient deadline do open it.
		for range 30 {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			s.before = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
			_, _ = c.Request(ctx, "k", coalesce.Low)
			cancel()
		}
		assert.Equal(t, "open", c.Stats().Breaker, "after 30 deadlines that passed the breaker")
	})
}

// TestPanic: a panic of the store does not affect other calls.
func TestPanic(t *testing.T) {
	s := watch(func(context.Context, string) error { panic("a defect") })
	c := newCoalescer(t, s, coalesce.Config{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = c.Request(t.Context(), "k", coalesce.Low)
	}()
	s.before = nil
	want(t, c, coalesce.Low, coalesce.Published)
}
