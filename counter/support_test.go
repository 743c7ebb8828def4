package counter_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errCrash = errors.New("the process died here")

// crash crashes a flusher at one of its calls: before the call is executed, or after it,
// without returning its result. From then on every call fails, as the process is gone.
type crash struct {
	at    int // the call's number, from 1; 0 never
	after bool
	calls int
	dead  bool
}

func (c *crash) call(do func() error) error {
	if c.dead {
		return errCrash
	}
	c.calls++
	if c.calls != c.at {
		return do()
	}
	c.dead = true
	if c.after {
		do() //nolint:errcheck // nobody hears of it
	}
	return errCrash
}

type crashStore struct {
	driver.Store
	crash *crash
}

func (s crashStore) Take(ctx context.Context, name string, limit int) (out []driver.Taken, err error) {
	err = s.crash.call(func() error { out, err = s.Store.Take(ctx, name, limit); return err })
	return out, err
}

func (s crashStore) Aside(ctx context.Context, name string) (out []driver.Taken, err error) {
	err = s.crash.call(func() error { out, err = s.Store.Aside(ctx, name); return err })
	return out, err
}

func (s crashStore) Forget(ctx context.Context, name string, ids []string) error {
	return s.crash.call(func() error { return s.Store.Forget(ctx, name, ids) })
}

type crashApplier struct {
	driver.Applier
	crash *crash
}

func (a crashApplier) Lease(ctx context.Context, name, holder string, ttl time.Duration) (out driver.Lease, err error) {
	err = a.crash.call(func() error { out, err = a.Applier.Lease(ctx, name, holder, ttl); return err })
	return out, err
}

func (a crashApplier) Apply(ctx context.Context, l driver.Lease, b driver.Batch) (fresh bool, err error) {
	err = a.crash.call(func() error { fresh, err = a.Applier.Apply(ctx, l, b); return err })
	return fresh, err
}

func (a crashApplier) Prune(ctx context.Context, name string, age time.Duration, limit int) (n int, err error) {
	err = a.crash.call(func() error { n, err = a.Applier.Prune(ctx, name, age, limit); return err })
	return n, err
}

type crashSource struct {
	driver.Source
	crash *crash
}

func (s crashSource) Read(ctx context.Context, after string, limit int) (out []counter.Change, next string, err error) {
	err = s.crash.call(func() error { out, next, err = s.Source.Read(ctx, after, limit); return err })
	return out, next, err
}

var quiet = slog.New(slog.DiscardHandler)

func newCounter(t testing.TB, store driver.Store, cfg counter.Config) *counter.Counter {
	t.Helper()
	c, err := counter.New("comment", store, cfg)
	require.NoError(t, err)
	return c
}

func newFlusher(t testing.TB, store driver.Store, applier driver.Applier, cfg counter.Config) *counter.Counter {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	cfg.Applier = applier
	return newCounter(t, store, cfg)
}

func flush(t testing.TB, f *counter.Counter) counter.Round {
	t.Helper()
	r, err := f.Flush(t.Context())
	require.NoError(t, err)
	return r
}

func wantTotals(t testing.TB, a driver.Applier, want map[string]int64) {
	t.Helper()
	var keys []string
	for key := range want {
		keys = append(keys, key)
	}
	got, err := a.Totals(t.Context(), "comment", keys)
	require.NoError(t, err)
	for key, n := range want {
		assert.Equalf(t, n, got[key], "total of %s", key)
	}
}
