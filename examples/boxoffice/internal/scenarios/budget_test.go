package scenarios

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
)

// The low cap of one call a second is used up, and the global bucket is full: after
// any number of refused low calls, high can have all of it at once.
func TestScenario08LowCapExhausted(t *testing.T) {
	limits := ratelimit.Limits{HardLimit: 100, Rate: 20, LowRate: 1, Burst: 20, LowBurst: 1}
	// A limiter for each refusal, as a process of its own: a limiter that remembers a
	// refusal does not even ask.
	run := func(t *testing.T, limiter func() *ratelimit.Limiter) {
		full := func() (d ratelimit.Decision, err error) {
			if d, err = limiter().Allow(t.Context(), ratelimit.High); err == nil && d.Permit != nil {
				err = d.Permit.Return(t.Context())
			}
			return d, err
		}
		eventually(t, "the bucket is full", func() bool {
			d, err := full()
			check(t, "ask", err)
			return d.Remaining >= limits.Burst-1
		})
		granted, refused := 0, 0
		for range 60 {
			d, err := limiter().Allow(t.Context(), ratelimit.Low)
			switch {
			case err != nil:
				t.Fatal(err)
			case d.Allowed: // also when the second is over, on a slow machine
				granted++
			case d.Reason == ratelimit.ReasonLowCap:
				refused++
			default:
				t.Errorf("refused because of %s", d.Reason)
			}
		}
		if granted == 0 || refused == 0 {
			t.Fatalf("%d low calls were granted and %d refused, want some of both", granted, refused)
		}
		// The bucket lacks the last grants of low, and tokens that came back too late; it
		// fills twenty times as fast as low is granted.
		n := limits.Burst - 3
		if d, err := limiter().AllowN(t.Context(), ratelimit.High, n); err != nil || !d.Allowed {
			t.Errorf("%d calls of high priority at once, after %d refused of low: %+v, %v", n, refused, d, err)
		}
	}
	inMemory := func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := memratelimit.New()
			run(t, func() *ratelimit.Limiter {
				l, err := ratelimit.New(store, ratelimit.Config{Limits: limits, Logger: quiet})
				require.NoError(t, err)
				return l
			})
		})
	}
	if proved(t) != servers {
		t.Run("memory", inMemory)
	}
	for name, url := range redisServers(t) {
		t.Run(name, func(t *testing.T) {
			client, budget := openRedis(t, url(t)), unique()
			removeBudget(t, client, budget)
			run(t, func() *ratelimit.Limiter {
				l, _ := newBudget(t, client, budget, ratelimit.Config{Limits: limits, Timeout: time.Minute})
				return l
			})
		})
	}
}

// On a Cluster of three nodes every script works, on each of them: none touches keys
// of two slots, or a key that it has not declared.
func TestScenario14Cluster(t *testing.T) {
	onServersOnly(t)
	if proved(t) == servers {
		t.Run("servers", scriptsOnServers)
	}
	client := openRedis(t, clusterURL(t))
	for node, name := range oneOfEachNode(t, client) {
		t.Run(node, func(t *testing.T) {
			t.Parallel() // the strict mode waits for a window
			removeBudget(t, client, name)
			for _, strict := range []bool{false, true} {
				l, _ := newBudget(t, client, name, ratelimit.Config{Timeout: time.Minute, Limits: ratelimit.Limits{
					HardLimit: 1000, Rate: 400, LowRate: 200, Strict: strict, Delay: 100 * time.Millisecond,
					DayLimit: 1_000_000, DayHighReserve: 1000,
				}})
				budgetScripts(t, l, strict)
			}
			store, err := rediscoalesce.New(client, rediscoalesce.Config{Prefix: name + ":"})
			require.NoError(t, err)
			t.Cleanup(func() {
				for _, key := range []string{"lock", "ver", "again"} {
					check(t, "remove the keys", client.Del(context.Background(), name+":{"+name+"}:"+key).Err())
				}
			})
			coalesceScripts(t, store, name)
		})
	}
}

// oneOfEachNode finds a name for each of the three nodes, whose keys are on that
// node.
func oneOfEachNode(t *testing.T, client redis.UniversalClient) map[string]string {
	t.Helper()
	cluster, ok := client.(*redis.ClusterClient)
	require.Truef(t, ok, "it is no Cluster: a %T", client)
	names := map[string]string{}
	eventually(t, "each of three nodes has a name", func() bool {
		name := unique()
		node, err := cluster.MasterForKey(t.Context(), "{"+name+"}:global")
		require.NoError(t, err)
		names[node.Options().Addr] = name
		return len(names) == 3
	})
	return names
}

// budgetScripts takes and returns permits, in one of the two modes.
func budgetScripts(t *testing.T, l *ratelimit.Limiter, strict bool) {
	t.Helper()
	for _, p := range []ratelimit.Priority{ratelimit.High, ratelimit.Low} {
		var d ratelimit.Decision
		eventually(t, fmt.Sprintf("a call of %s priority is granted, strict %v", p, strict), func() bool {
			var err error
			if d, err = l.Allow(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			return d.Allowed
		})
		assert.NoErrorf(t, d.Permit.Return(t.Context()), "give it back, strict %v", strict)
	}
	if used := l.Stats().DayUsed; used < 1 {
		t.Errorf("the day has used %d, strict %v", used, strict)
	}
}

// coalesceScripts requests, extends, upgrades, asks for one more run, ends it and
// releases it.
func coalesceScripts(t *testing.T, store driver.Store, key string) {
	t.Helper()
	c, err := coalesce.New(store, coalesce.Config{HighTTL: time.Hour, LowTTL: time.Hour, VersionTTL: 2 * time.Hour, Timeout: time.Minute})
	require.NoError(t, err)
	request := func(ask func(context.Context, string, coalesce.Priority) (coalesce.Decision, error), p coalesce.Priority, want driver.Outcome) int64 {
		t.Helper()
		d, err := ask(t.Context(), key, p)
		if err != nil || d.Outcome != want {
			t.Fatalf("a request of %s priority: %v, %v; want %v", p, d.Outcome, err, want)
		}
		return d.Ticket.Version
	}
	low := request(c.Request, coalesce.Low, coalesce.Published)
	if extended, err := c.Extend(t.Context(), key, coalesce.Low, low); !extended || err != nil {
		t.Errorf("extend: %v, %v", extended, err)
	}
	high := request(c.Request, coalesce.High, coalesce.Upgraded)
	if high <= low {
		t.Errorf("version %d after %d", high, low)
	}
	request(c.Again, coalesce.Low, coalesce.AlreadyProcessing)
	next, again, err := c.Done(t.Context(), key, coalesce.High, high)
	if err != nil || !again || next.Version <= high {
		t.Fatalf("done: %+v, one more run: %v, %v", next, again, err)
	}
	if current, err := c.Sequence(t.Context(), key); err != nil || current != uint64(next.Version) {
		t.Errorf("the current version is %d, %v; want %d", current, err, next.Version)
	}
	if released, err := c.Release(t.Context(), key, next.Priority, next.Version); !released || err != nil {
		t.Errorf("release: %v, %v", released, err)
	}
}
