package renewal_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/idempotency/internal/renewal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errLost = errors.New("the lease is lost")
	errAway = errors.New("the store is away")
)

const ttl = 30 * time.Second

func TestExtends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		ctx, cancel := context.WithCancel(t.Context())
		work, k := renewal.Start(ctx, began, ttl, errLost, func(context.Context) error {
			at = append(at, time.Since(began))
			return nil
		})
		time.Sleep(65 * time.Second)
		if work.Err() != nil || k.Lost() {
			t.Errorf("the work was ended: %v, lost %v", context.Cause(work), k.Lost())
		}
		cancel()
		time.Sleep(20 * time.Second) // the work takes a while to end
		k.Stop()
		time.Sleep(time.Minute)
		if len(at) != 8 || at[0] != 10*time.Second || at[7] != 80*time.Second {
			t.Errorf("extended at %v, want each 10 s until stopped at 85 s", at)
		}
	})
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The claim took 2 s to return: the lease is that much older.
		began := time.Now().Add(-2 * time.Second)
		work, k := renewal.Start(t.Context(), began, ttl, errLost, func(ctx context.Context) error {
			<-ctx.Done() // a hanging call
			return ctx.Err()
		})
		defer k.Stop()
		<-work.Done()
		if got := time.Since(began); got != ttl || !errors.Is(context.Cause(work), errLost) || !k.Lost() {
			t.Errorf("the work ended %v after the claim with %v, lost %v; want %v and the loss", got, context.Cause(work), k.Lost(), ttl)
		}
	})
}

func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		work, k := renewal.Start(t.Context(), began, ttl, errLost, func(context.Context) error {
			return errors.Join(errors.New("sql"), errLost)
		})
		defer k.Stop()
		<-work.Done()
		if got := time.Since(began); got != 10*time.Second || !errors.Is(context.Cause(work), errLost) || !k.Lost() {
			t.Errorf("the work ended after %v with %v, lost %v", got, context.Cause(work), k.Lost())
		}
	})
}

func TestStopWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Bool
		work, k := renewal.Start(t.Context(), time.Now(), ttl, errLost, func(ctx context.Context) error {
			running.Store(true)
			defer running.Store(false)
			<-ctx.Done()
			time.Sleep(time.Second) // it does not end at once
			return ctx.Err()
		})
		time.Sleep(11 * time.Second)
		require.True(t, running.Load(), "no extension is running")
		k.Stop()
		if running.Load() || k.Lost() || !errors.Is(context.Cause(work), context.Canceled) {
			t.Errorf("after Stop: running %v, lost %v, cause %v", running.Load(), k.Lost(), context.Cause(work))
		}
	})
}

func TestInsist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		final := func(err error) bool { return errors.Is(err, errLost) }
		for name, tc := range map[string]struct {
			fails time.Duration
			err   error
			want  error
			after time.Duration
		}{
			"at once":         {0, nil, nil, 0},
			"after an outage": {3 * time.Second, errAway, nil, 5 * time.Second},
			"too long":        {time.Hour, errAway, errAway, 10 * time.Second},
			"final":           {time.Hour, errLost, errLost, 0},
		} {
			began := time.Now()
			err := renewal.Insist(over, 10*time.Second, final, func(ctx context.Context) error {
				assert.NoError(t, ctx.Err(), "the ended context reached the call")
				if time.Since(began) < tc.fails {
					return tc.err
				}
				return nil
			})
			if got := time.Since(began); !errors.Is(err, tc.want) || got > tc.after {
				t.Errorf("%s: %v after %v", name, err, got)
			}
		}
	})
}
