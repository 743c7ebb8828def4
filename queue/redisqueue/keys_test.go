package redisqueue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
)

// ttls are the times to live of all keys with a prefix, by the part behind the event.
func ttls(t *testing.T, client redis.UniversalClient, prefix string) map[string]time.Duration {
	t.Helper()
	keys, err := keysAt(t.Context(), client, prefix)
	require.NoError(t, err)
	found := map[string]time.Duration{}
	for _, key := range keys {
		ttl, err := client.PTTL(t.Context(), key).Result()
		require.NoError(t, err)
		_, name, _ := strings.Cut(key, "}:")
		found[name] = ttl
	}
	return found
}

// TestKeys makes a room use all its keys: they have the names that others rely on,
// expire after a day, and not before.
func TestKeys(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			prefix := redistest.Prefix(t, client)
			r := newRoom(t, client, prefix, 1)
			on, zero, two := driver.Gate{On: true}, 0, 2
			change := func(c driver.Change) {
				_, err := r.store.Change(t.Context(), "e", r.rules, c)
				require.NoError(t, err)
			}
			r.check("inside")
			r.check("missing")
			r.check("waits")
			change(driver.Change{Threshold: &two, Gate: &on})
			r.visit(driver.Visit{Kind: driver.Check, User: "gated", Position: 5})
			r.admit() // the future no-show
			r.ahead.Add(r.rules.NoShow.Microseconds())
			change(driver.Change{Threshold: &zero})
			r.ahead.Add((3 * time.Hour).Microseconds()) // all is renewed
			r.visit(driver.Visit{Kind: driver.Heartbeat, User: "waits"})
			off := driver.Gate{}
			change(driver.Change{Gate: &off})
			r.ahead.Add((2 * time.Hour).Microseconds())
			r.visit(driver.Visit{Kind: driver.Heartbeat, User: "waits"})

			found := ttls(t, client, prefix)
			for name, ttl := range found {
				low, high := 24*time.Hour, 25*time.Hour
				switch {
				case name == "threshold":
					low, high = -1, -1 // an operator's setting is for a day to come
				case name == "":
					continue // the registry
				case strings.HasPrefix(name, "seen:"):
					low, high = r.rules.Seen, r.rules.Seen+3*time.Minute
				}
				if ttl < low || ttl > high {
					t.Errorf("%s is kept for %v, want %v to %v", name, ttl, low, high)
				}
			}
			for _, name := range []string{"queue", "threshold", "room", "waiting", "versions", "slots", "used", "runs"} {
				if _, ok := found[name]; !ok {
					t.Errorf("there is no key %s: %v", name, found)
				}
			}
			if n, err := client.ZCard(t.Context(), prefix+"{e}:queue").Result(); err != nil || n != 2 {
				t.Errorf("the queue holds %d, %v; want 2", n, err)
			}
		})
	}
}

// TestActiveKeys reads the keys of the users inside as other programs may.
func TestActiveKeys(t *testing.T) {
	t.Parallel()
	client := servers["redis"](t)
	prefix := redistest.Prefix(t, client)
	r := newRoom(t, client, prefix, 1)
	r.check("inside")
	r.check("called")
	r.rules.Threshold = 2
	r.admit()
	now := r.visit().Now
	for key, want := range map[string]map[string]time.Duration{
		"active":      {"inside": r.rules.Active},
		"active-seen": {"inside": 0},
		"reserved":    {"called": r.rules.NoShow},
		"missed":      {"called": r.rules.Seen},
	} {
		all, err := client.ZRangeWithScores(t.Context(), prefix+"{e}:"+key, 0, -1).Result()
		if err != nil || len(all) != len(want) {
			t.Errorf("%s is %v, %v; want %v", key, all, err, want)
		}
		for _, z := range all {
			off := time.UnixMilli(int64(z.Score)).Sub(now.Add(want[z.Member.(string)]))
			if off < -time.Minute || off > time.Second {
				t.Errorf("%s: %v is %v off", key, z.Member, off)
			}
		}
	}
	for name, ttl := range ttls(t, client, prefix) {
		if slices.Contains([]string{"active", "active-seen", "reserved", "entry", "missed", "turns"}, name) && ttl < 24*time.Hour {
			t.Errorf("%s is kept for %v", name, ttl)
		}
	}
}

// TestPausedStays keeps a room that an operator has closed, and expires one that
// was only looked at.
func TestPausedStays(t *testing.T) {
	t.Parallel()
	client := servers["redis"](t)
	prefix := redistest.Prefix(t, client)
	r := newRoom(t, client, prefix, 1)
	_, err := r.store.Look(t.Context(), "e", r.rules, 0, 0)
	require.NoError(t, err)
	if ttl := ttls(t, client, prefix)["room"]; ttl < 24*time.Hour {
		t.Errorf("a room that was looked at is kept for %v", ttl)
	}
	if events, err := r.store.Events(t.Context()); err != nil || len(events) != 0 {
		t.Errorf("the events are %v, %v, after a look at one", events, err)
	}
	for _, paused := range []bool{true, false} {
		_, err := r.store.Change(t.Context(), "e", r.rules, driver.Change{Paused: &paused})
		require.NoError(t, err)
		if ttl := ttls(t, client, prefix)["room"]; (ttl == -1) != paused {
			t.Errorf("a room is kept for %v; paused: %t", ttl, paused)
		}
	}
}

// TestRegistry takes an event out of the registry while it is in use, as an overtaken
// sweep does: the next call that finds it unused puts it back.
func TestRegistry(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			prefix := redistest.Prefix(t, client)
			r := newRoom(t, client, prefix, 1)
			listed := func() bool {
				events, err := r.store.Events(t.Context())
				require.NoError(t, err)
				return slices.Equal(events, []string{"e"})
			}
			for i := range 3 {
				user := fmt.Sprint(i)
				if r.check(user); !listed() {
					t.Fatalf("the event is not listed after visit %d", i)
				}
				r.visit(driver.Visit{Kind: driver.Leave, User: user})
				require.NoError(t, client.SRem(t.Context(), prefix+"queue:active-events", "e").Err())
			}
		})
	}
}

// TestOlderData restarts a server with data older than its last answers: a process
// that has looked since sees all of that data, and nothing that was lost.
func TestOlderData(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	admin := open(t, s.URL())
	r := newRoom(t, admin, "", 0)
	r.check("kept")
	require.NoError(t, admin.Save(t.Context()).Err())
	r.check("lost")
	r.check("lost too")
	before, err := r.store.Look(t.Context(), "e", r.rules, 0, 0)
	require.NoError(t, err)
	s.Kill()
	s.Start()
	redistest.Eventually(t, "the server has its data", func() error { return admin.Ping(t.Context()).Err() })
	for i := range 5 {
		r.check(fmt.Sprint("new", i))
	}
	after, err := r.store.Look(t.Context(), "e", r.rules, before.Epoch, before.Version)
	require.NoError(t, err)
	if after.Epoch != before.Epoch || !after.Full || after.Waiting != 6 || after.Version <= before.Version {
		t.Errorf("epoch %d, version %d became %+v", before.Epoch, before.Version, after)
	}
	again, err := r.store.Look(t.Context(), "e", r.rules, after.Epoch, after.Version)
	if err != nil || again.Full || len(again.Blocks) != 0 {
		t.Errorf("nothing happened, and a look sees %+v, %v", again, err)
	}
}
