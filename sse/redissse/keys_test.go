package redissse_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/redissse"
)

// TestKeys reads the keys as other programs may.
func TestKeys(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			prefix := redistest.Prefix(t, client)
			now := newClock()
			began := float64(now.µs.Load() / 1000)
			i := newInstance(t, newCap(t, client, prefix), "i", now)
			for range 4 { // within one millisecond
				i.open("42")
			}
			for key, want := range map[string][]redis.Z{
				"sse:notification:{42}":         {{Score: began + 1, Member: "i.2"}, {Score: began + 2, Member: "i.3"}, {Score: began + 3, Member: "i.4"}},
				"sse:notification:{42}:evicted": {{Score: began + float64(rules.Lifetime.Milliseconds()), Member: "tab of i.1"}},
				"sse:instances":                 {{Score: began + float64(lease.Milliseconds()), Member: "i"}},
				"sse:members":                   {{Score: 0, Member: "42"}},
			} {
				all, err := client.ZRangeWithScores(t.Context(), prefix+key, 0, -1).Result()
				if err != nil || fmt.Sprint(all) != fmt.Sprint(want) {
					t.Errorf("%s is %v, %v; want %v", key, all, err, want)
				}
			}
			tabs, err := client.HGetAll(t.Context(), prefix+"sse:notification:{42}:tabs").Result()
			if err != nil || fmt.Sprint(tabs) != "map[i.2:tab of i.2 i.3:tab of i.3 i.4:tab of i.4]" {
				t.Errorf("the tabs are %v, %v", tabs, err)
			}
			for key, low := range map[string]time.Duration{
				"sse:notification:{42}": rules.Lifetime, "sse:notification:{42}:tabs": rules.Lifetime,
				"sse:notification:{42}:evicted": rules.Lifetime, "sse:instances": lease,
			} {
				ttl, err := client.PTTL(t.Context(), prefix+key).Result()
				if err != nil || ttl <= low || ttl > low+time.Minute {
					t.Errorf("%s is kept for %v, %v", key, ttl, err)
				}
			}
			assert.NoError(t, i.cap.Resign(t.Context(), "i"))
			if err := i.cap.Close(t.Context(), []driver.Conn{{Member: "42", ID: "i.2", Token: "t"}, {Member: "42", ID: "i.3", Token: "t"}, {Member: "42", ID: "i.4", Token: "t"}}); err != nil {
				t.Error(err)
			}
			i.sweep()
			for _, key := range []string{"sse:notification:{42}", "sse:notification:{42}:tabs", "sse:instances", "sse:members"} {
				if n, err := client.Exists(t.Context(), prefix+key).Result(); err != nil || n != 0 {
					t.Errorf("%s is left, %v", key, err)
				}
			}
		})
	}
}

// TestNames uses members of any name, each with keys of its own in one slot.
func TestNames(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			i := newInstance(t, newCap(t, client, redistest.Prefix(t, client)), "i.with.dots", nil)
			names := []string{"a", "}", "{", "{}", "}{", "a}b", "{a}", "%7D", "%", "회원", "\x00\xff", " ", "a}:tabs", "a:tabs", "-", "+", "(a", "[a"}
			var conns []driver.Conn
			for _, name := range names {
				for range 3 {
					c, o := i.open(name)
					if len(o.Evicted) != 0 || o.Ghosts != 0 {
						t.Errorf("%q shares its streams: %+v", name, o)
					}
					conns = append(conns, c)
				}
			}
			assert.Empty(t, i.missing(conns...), "gone")
			assert.Equal(t, 0, i.sweep(), "were swept")
			if _, o := i.open("}"); len(o.Evicted) != 1 || o.Evicted[0] != conns[3] {
				t.Errorf("evicted %+v, want %+v", o.Evicted, conns[3])
			}
		})
	}
}

// TestSweep sweeps many members in bounded steps, and forgets those without a
// stream.
func TestSweep(t *testing.T) {
	const members = 250
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			prefix := redistest.Prefix(t, client)
			now := newClock()
			old := newInstance(t, newCap(t, client, prefix), "old", now)
			for m := range members {
				old.open(fmt.Sprint("m", m))
			}
			now.advance(rules.Lifetime - time.Minute)
			i := newInstance(t, newCap(t, client, prefix), "i", now)
			now.advance(time.Minute)
			i.live.Instances = append(i.live.Instances, "old")
			assert.Equal(t, 0, i.sweep(), "were swept at the end of their lifetime")
			stays, _ := i.open("m7")
			now.advance(time.Millisecond)
			steps, most, removed := 0, 0, 0
			for from := ""; ; steps++ {
				s, err := i.cap.Sweep(t.Context(), rules, i.live, from)
				require.NoError(t, err)
				removed, most = removed+s.Removed, max(most, s.Removed)
				if from = s.Next; s.Done {
					break
				}
			}
			if removed != members || most > 100 || steps < 2 {
				t.Errorf("%d of %d were swept, at most %d in one of %d steps", removed, members, most, steps+1)
			}
			left, err := client.ZRange(t.Context(), prefix+"sse:members", 0, -1).Result()
			if err != nil || len(left) != 1 || left[0] != "m7" || len(i.missing(stays)) != 0 {
				t.Errorf("%v are left, %v", left, err)
			}
		})
	}
}

// TestRegistry lets a member open a stream while a sweep forgets the member, and
// the reverse: a member with a stream is in the registry.
func TestRegistry(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			prefix := redistest.Prefix(t, client)
			now := newClock()
			between, other := connect(t), newInstance(t, newCap(t, connect(t), prefix), "other", now)
			hook := &meanwhile{}
			between.AddHook(hook)
			i := newInstance(t, newCap(t, between, prefix), "i", now)
			other.renew()
			listed := func(when string) {
				t.Helper()
				assert.NoErrorf(t, client.ZScore(t.Context(), prefix+"sse:members", "m").Err(), "%s: the member has a stream and is not listed", when)
			}
			c, _ := other.open("m")
			require.NoError(t, other.cap.Close(t.Context(), []driver.Conn{c}))
			hook.on("zrem", func() { c, _ = other.open("m") })
			i.sweep()
			listed("opened before it was forgotten")
			require.NoError(t, other.cap.Close(t.Context(), []driver.Conn{c}))
			hook.on("zadd", func() { other.sweep() })
			i.open("m")
			listed("forgotten before it was listed")
		})
	}
}

// meanwhile does something before a command is sent, once.
type meanwhile struct {
	name string
	do   func()
}

func (m *meanwhile) on(name string, do func()) { m.name, m.do = name, do }

func (m *meanwhile) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m *meanwhile) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (m *meanwhile) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if do := m.do; do != nil && cmd.Name() == m.name {
			m.do = nil
			do()
		}
		return next(ctx, cmd)
	}
}

func TestNew(t *testing.T) {
	client := open(t, "redis://127.0.0.1:1")
	try := func(c redis.UniversalClient, prefix string, d time.Duration) [2]error {
		_, _, err := redissse.New(c, redissse.Config{Prefix: prefix, Skew: d})
		_, _, err2 := redissse.New(c, redissse.Config{Prefix: prefix, Silence: d})
		return [2]error{err, err2}
	}
	refused := func(what string, errs [2]error) {
		t.Helper()
		for _, err := range errs {
			assert.Errorf(t, err, "accepted: %s", what)
		}
	}
	refused("a nil client", try(nil, "", 0))
	for _, o := range []redis.UniversalOptions{
		{}, {ContextTimeoutEnabled: true, MaxRetries: 3}, {MaxRetries: -1},
		{IsClusterMode: true}, {IsClusterMode: true, ContextTimeoutEnabled: true, MaxRetries: 2},
	} {
		o.Addrs = []string{"127.0.0.1:1"}
		c := redis.NewUniversalClient(&o)
		refused(fmt.Sprintf("a client with %+v", o), try(c, "", 0))
		assert.NoError(t, c.Close())
	}
	for _, prefix := range []string{"{a}", "a}", "a b", "a\n", "\xff", fmt.Sprintf("%0101d", 1)} {
		refused("prefix "+prefix, try(client, prefix, 0))
	}
	refused("a negative duration", try(client, "", -1))
	for _, prefix := range []string{"", "shop:", "공연:", fmt.Sprintf("%0100d", 1)} {
		if errs := try(client, prefix, time.Second); errs != [2]error{} {
			t.Errorf("the prefix %q: %v", prefix, errs)
		}
	}
}
