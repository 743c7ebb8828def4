package redisratelimit_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// modes have one key each for their state, by which the test distinguishes them.
var modes = map[string]struct {
	limits ratelimit.Limits
	key    string
}{
	"buckets": {ratelimit.Limits{HardLimit: 100, Rate: 20, Burst: 50}, "{rate}:global"},
	"strict":  {ratelimit.Limits{HardLimit: 60, Rate: 50, Strict: true, Delay: 10 * time.Millisecond}, "{rate}:window"},
}

// victim is a server with a budget in use.
type victim struct {
	t      *testing.T
	server *redistest.Server
	admin  redis.UniversalClient
	store  driver.Store
	usage  *usage
}

func (v *victim) restart() { v.server.Kill(); v.server.Start() }

// TestFaults takes all it can just before and just after each of the faults: a whole window of
// the strict mode, and the content of buckets, which begin empty.
func TestFaults(t *testing.T) {
	faults := []struct {
		name    string
		options []string
		hurt    func(v *victim)
		data    bool // the data exists after the fault
		granted bool // calls may be granted at once
	}{
		{"flush", nil, func(v *victim) {
			if err := v.admin.FlushAll(v.t.Context()).Err(); err != nil {
				v.t.Fatal(err)
			}
		}, false, false},
		{"scripts are gone", nil, func(v *victim) {
			if err := v.admin.ScriptFlush(v.t.Context()).Err(); err != nil {
				v.t.Fatal(err)
			}
		}, true, true},
		{"stopped and gone on", nil, func(v *victim) {
			v.server.Stop()
			// The server decides the calls of this time later, and charges them to no caller.
			for range 3 {
				ctx, cancel := context.WithTimeout(v.t.Context(), 20*time.Millisecond)
				_, err := v.store.Acquire(ctx, v.usage.plan, all)
				cancel()
				if err == nil {
					v.t.Error("a server that is stopped has answered")
				}
			}
			v.server.Signal(syscall.SIGCONT)
		}, true, true},
		{"crash", nil, (*victim).restart, false, false},
		{"crash with AOF", []string{"--appendonly", "yes", "--appendfsync", "always"}, (*victim).restart, true, false},
		{"crash with an old snapshot", nil, func(v *victim) {
			if err := v.admin.Save(v.t.Context()).Err(); err != nil {
				v.t.Fatal(err)
			}
			v.usage.gain(v.store)
			v.restart()
		}, true, false},
	}
	for mode, m := range modes {
		for _, f := range faults {
			t.Run(mode+"/"+f.name, func(t *testing.T) {
				t.Parallel() // a window takes a second
				s := redistest.StartServer(t, f.options...)
				v := &victim{t: t, server: s, admin: open(t, s.URL()), usage: &usage{t: t, plan: planOfLimits(t, m.limits)}}
				v.store = newStore(t, v.admin, "rate")
				v.usage.must(v.store)
				v.usage.gain(v.store)
				f.hurt(v)
				require.Equal(t, f.data, exists(t, v.admin, m.key), "after the fault the state is there")
				if n := v.usage.must(v.store); n != 0 && !f.granted {
					t.Errorf("%d were granted at once after it", n)
				}
				v.usage.gain(v.store)
				v.usage.check()
			})
		}
	}
}

// exists checks a key on a server that may still be loading.
func exists(t *testing.T, admin redis.UniversalClient, key string) bool {
	t.Helper()
	var there bool
	redistest.Eventually(t, key+" can be looked at", func() error {
		n, err := admin.Exists(t.Context(), key).Result()
		there = n == 1
		return err
	})
	return there
}
