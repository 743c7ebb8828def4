package coalesce_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errDown    = fault.MarkInfrastructure(errors.New("connection refused"))
	errPublish = errors.New("the broker is slow")
)

// watched is a store in memory that can fail, or be blocked, before each call.
type watched struct {
	driver.MemoryStore
	calls  atomic.Int32
	before func(ctx context.Context, what string) error
}

func watch(before func(ctx context.Context, what string) error) *watched {
	return &watched{MemoryStore: memcoalesce.New(), before: before}
}

func (w *watched) step(ctx context.Context, what string) error {
	w.calls.Add(1)
	if w.before == nil {
		return nil
	}
	return w.before(ctx, what)
}

func (w *watched) Request(ctx context.Context, key string, p coalesce.Priority, again bool, ttl driver.TTLs) (coalesce.Decision, error) {
	if err := w.step(ctx, "request"); err != nil {
		return coalesce.Decision{}, err
	}
	return w.MemoryStore.Request(ctx, key, p, again, ttl)
}

func (w *watched) Release(ctx context.Context, t coalesce.Ticket) (bool, error) {
	if err := w.step(ctx, "release"); err != nil {
		return false, err
	}
	return w.MemoryStore.Release(ctx, t)
}

func (w *watched) Current(ctx context.Context, key string) (int64, bool, error) {
	if err := w.step(ctx, "current"); err != nil {
		return 0, false, err
	}
	return w.MemoryStore.Current(ctx, key)
}

func newCoalescer(t *testing.T, s driver.Store, cfg coalesce.Config) *coalesce.Coalescer {
	t.Helper()
	c, err := coalesce.New(s, cfg)
	require.NoError(t, err)
	return c
}

// want requests a refresh and checks the outcome.
func want(t *testing.T, c *coalesce.Coalescer, p coalesce.Priority, o driver.Outcome) coalesce.Ticket {
	t.Helper()
	return wantOf(t, c.Request, p, o)
}

// wantAgain requests a refresh, and one more run if the key is being refreshed.
func wantAgain(t *testing.T, c *coalesce.Coalescer, p coalesce.Priority, o driver.Outcome) coalesce.Ticket {
	t.Helper()
	return wantOf(t, c.Again, p, o)
}

func wantOf(t *testing.T, request func(context.Context, string, coalesce.Priority) (coalesce.Decision, error), p coalesce.Priority, o driver.Outcome) coalesce.Ticket {
	t.Helper()
	d, err := request(t.Context(), "k", p)
	if err != nil || d.Outcome != o {
		t.Fatalf("%s request: %v, %v; want %v", p, d.Outcome, err, o)
	}
	return d.Ticket
}
