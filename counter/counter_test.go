package counter_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
	"github.com/millrace-go/millrace/fault"
)

// TestRest: an unreachable store costs one call its timeout, and later calls fail at once.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := &hangingStore{Store: memcounter.New(), hangs: true}
		applier := memcounter.NewApplier()
		c := newCounter(t, hang, counter.Config{Applier: applier})
		began := time.Now()
		assert.ErrorIs(t, c.Add(t.Context(), "a", 1), context.DeadlineExceeded, "a store that hangs")
		for range 10 {
			if err := c.Add(t.Context(), "a", 1); !errors.Is(err, counter.ErrResting) || fault.Of(err) != fault.Infrastructure {
				t.Errorf("after that: %v", err)
			}
		}
		if got, err := c.Counts(t.Context(), "a"); err != nil || got["a"] != 0 {
			t.Errorf("counts without the store: %v (%v)", got, err)
		}
		assert.Equal(t, 250*time.Millisecond, time.Since(began), "11 additions and a look took")
		hang.hangs = false
		time.Sleep(time.Second)
		assert.NoError(t, c.Add(t.Context(), "a", 1))
		if s := c.Stats(); s.Added != 1 || s.Failed != 11 {
			t.Errorf("%+v", s)
		}
	})
}

// TestCancelledIsNoRest: the end of one request's context does not make the store rest.
func TestCancelledIsNoRest(t *testing.T) {
	c := newCounter(t, memcounter.New(), counter.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, c.Add(ctx, "a", 1), context.Canceled)
	assert.NoError(t, c.Add(t.Context(), "a", 1))
}

type hangingStore struct {
	driver.Store
	hangs bool
}

func (s *hangingStore) Add(ctx context.Context, name, key string, n int64) error {
	if s.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Store.Add(ctx, name, key, n)
}

func TestChangesAreChecked(t *testing.T) {
	c := newCounter(t, memcounter.New(), counter.Config{})
	for want, err := range map[string]error{
		"is empty":           c.Add(t.Context(), "", 1),
		"has 201 bytes":      c.Add(t.Context(), strings.Repeat("x", 201), 1),
		"no UTF-8":           c.Add(t.Context(), "\xff", 1),
		"control characters": c.Add(t.Context(), "a\n", 1),
		"too much at once":   c.Add(t.Context(), "a", driver.MaxN+1),
		"key is empty":       second(c.Pending(t.Context(), "")),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || fault.Of(err) != fault.Permanent {
			t.Errorf("%v; want a permanent error about %s", err, want)
		}
	}
	assert.NoError(t, c.Add(t.Context(), "a", 0))
	if got, err := c.Pending(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("pending of no key: %v (%v)", got, err)
	}
}
