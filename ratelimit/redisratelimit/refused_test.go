package redisratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// all asks for more calls than there can be.
var all = driver.Ask{Runs: []driver.Run{{Priority: driver.High, Size: 1, Count: 10_000}}}

// away checks that the error of a server is an infrastructure failure, with the server's
// reason.
func away(t *testing.T, s driver.Store, p *driver.Plan, reason string) {
	t.Helper()
	_, err := s.Acquire(t.Context(), p, all)
	if fault.Of(err) != fault.Infrastructure || !strings.Contains(err.Error(), reason) {
		t.Errorf("got %v of class %v, want %s", err, fault.Of(err), reason)
	}
}

// TestHungServer: a call to a hanging server ends with its context, long before the client's
// own timeout.
func TestHungServer(t *testing.T) {
	s := redistest.StartServer(t)
	client, err := redisdb.Open(s.URL(), redisdb.Config{Timeout: 5 * time.Minute})
	require.NoError(t, err)
	defer client.Close()
	store := newStore(t, client, "rate")
	plan := planOfLimits(t, ratelimit.Limits{HardLimit: 500, Rate: 450})
	ask := driver.Ask{Runs: []driver.Run{{Priority: driver.High, Size: 1, Count: 1}}}
	_, err = store.Acquire(t.Context(), plan, ask)
	require.NoError(t, err)
	s.Stop()
	defer s.Signal(syscall.SIGCONT)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = store.Acquire(ctx, plan, ask)
	if !errors.Is(err, context.DeadlineExceeded) && fault.Of(err) != fault.Infrastructure {
		t.Errorf("a server that hangs: %v", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

// TestReadOnly: a replica cannot hold a budget.
func TestReadOnly(t *testing.T) {
	client := open(t, redistest.StartServer(t).URL())
	require.NoError(t, client.SlaveOf(t.Context(), "127.0.0.1", "1").Err())
	away(t, newStore(t, client, "rate"), planOfLimits(t, ratelimit.Limits{HardLimit: 500, Rate: 450}), "READONLY")
}

// TestForbidden: for a user without the right to run INFO, the error lists the rights to grant,
// without a password.
func TestForbidden(t *testing.T) {
	s := redistest.StartServer(t)
	admin := open(t, s.URL())
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">geheim", "~*", "+@all", "-info").Err())
	client := open(t, "redis://app:geheim@"+s.Address+"/0")
	_, err := newStore(t, client, "rate").Acquire(t.Context(), planOfLimits(t, ratelimit.Limits{HardLimit: 500, Rate: 450}),
		driver.Ask{Runs: []driver.Run{{Priority: driver.High, Size: 1, Count: 1}}})
	if err == nil || !strings.Contains(err.Error(), "+info") || strings.Contains(err.Error(), "geheim") || fault.Of(err) != fault.Infrastructure {
		t.Errorf("a user without INFO: %v, class %v", err, fault.Of(err))
	}
}

// TestOutOfMemory: a server without memory grants nothing and charges nothing.
func TestOutOfMemory(t *testing.T) {
	for mode, m := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel() // a window takes a second
			s := redistest.StartServer(t)
			client := open(t, s.URL())
			store := newStore(t, client, "rate")
			u := &usage{t: t, plan: planOfLimits(t, m.limits)}
			u.must(store)
			u.gain(store)
			limit := func(bytes string) {
				require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", bytes).Err())
			}
			limit("1")
			before, err := client.Get(t.Context(), m.key).Result()
			require.NoError(t, err)
			refused := func() error {
				if _, err := u.ask(store); err != nil {
					return nil
				}
				return errors.New("it was not refused")
			}
			redistest.Eventually(t, "a grant fails", refused)
			away(t, store, u.plan, "OOM")
			if after, err := client.Get(t.Context(), m.key).Result(); err != nil || after != before {
				t.Errorf("the state is %x, and was %x: %v", after, before, err)
			}
			limit("0")
			u.gain(store)
			u.check()
		})
	}
}

// TestLoading: a server that loads its data says so, and counts as unavailable.
func TestLoading(t *testing.T) {
	s := redistest.StartServer(t, "--rdbcompression", "no")
	client := open(t, s.URL())
	for i := range 300 {
		require.NoError(t, client.Set(t.Context(), fmt.Sprint("key", i), strings.Repeat("x", 2000), 0).Err())
	}
	require.NoError(t, client.Save(t.Context()).Err())
	s.Kill()
	// Each key now takes 300 ms to load, and the server answers after each. The store does not
	// wait for it.
	s.Start("--key-load-delay", "300000", "--loading-process-events-interval-bytes", "1024")
	away(t, newStore(t, client, "rate"), planOfLimits(t, ratelimit.Limits{HardLimit: 500, Rate: 450}), "LOADING")
}
