package redisratelimit_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

// still is a store whose clock stands still, in both modes with a day.
type still struct {
	t      *testing.T
	client redis.UniversalClient
	store  driver.Store
	clock  *moment
	plan   *driver.Plan
	keys   []string
}

func stillIn(t *testing.T, client redis.UniversalClient, name string, strict bool) *still {
	t.Helper()
	s := &still{
		t: t, client: client, store: newStore(t, client, name),
		clock: &moment{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)},
		plan:  planOfLimits(t, ratelimit.Limits{HardLimit: 50, Rate: 30, LowRate: 20, Strict: strict, DayLimit: 1000}),
	}
	redisratelimit.Clocked(s.store, s.clock.get)
	s.keys = redisratelimit.Keys(s.store, strict)
	return s
}

func (s *still) ask(p driver.Priority, wait bool) driver.Grant {
	s.t.Helper()
	g, err := s.store.Acquire(s.t.Context(), s.plan, driver.Ask{Runs: []driver.Run{{Priority: p, Size: 1, Count: 100, Wait: wait}}})
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

func (s *still) giveBack(at int64) {
	s.t.Helper()
	if err := s.store.Return(s.t.Context(), s.plan, driver.Returned{Priority: driver.Low, Size: 1, At: at}); err != nil {
		s.t.Fatal(err)
	}
}

var changes = regexp.MustCompile(`rdb_changes_since_last_save:(\d+)`)

// writes counts the server's writes during do.
func (s *still) writes(do func()) int {
	s.t.Helper()
	count := func() int {
		info, err := s.client.Info(s.t.Context(), "persistence").Result()
		if err != nil {
			s.t.Fatal(err)
		}
		n, err := strconv.Atoi(changes.FindStringSubmatch(info)[1])
		if err != nil {
			s.t.Fatal(err)
		}
		return n
	}
	before := count()
	do()
	return count() - before
}

func TestRefusalsWriteNothing(t *testing.T) {
	client := open(t, redistest.StartServer(t).URL())
	for mode, strict := range map[string]bool{"buckets": false, "strict": true} {
		t.Run(mode, func(t *testing.T) {
			s := stillIn(t, client, "rate", strict)
			silent := func(when string, do func()) {
				t.Helper()
				if n := s.writes(do); n != 0 {
					t.Errorf("%s: %d writes", when, n)
				}
			}
			loud := func(when string, do func()) {
				t.Helper()
				if s.writes(do) == 0 {
					t.Errorf("%s: nothing is written", when)
				}
			}
			loud("the state begins", func() { s.ask(driver.High, false) })
			silent("empty", func() { s.ask(driver.High, false); s.ask(driver.Low, false) })
			s.clock.move(time.Hour)
			var granted driver.Grant
			loud("a grant", func() { granted = s.ask(driver.Low, false) })
			silent("the low cap", func() { s.ask(driver.Low, false) })
			loud("the rest", func() { s.ask(driver.High, false) })
			silent("all of it", func() { s.ask(driver.High, false); s.ask(driver.Low, false) })
			loud("high that waits", func() { s.ask(driver.High, true) })
			silent("low that yields", func() { s.ask(driver.Low, false) })
			loud("one comes back", func() { s.giveBack(granted.At) })
			s.clock.move(s.plan.Delay + time.Microsecond)
			silent("one comes back too late", func() { s.giveBack(granted.At) })
		})
	}
}

// pass lets time pass for the scripts and for the server's expiry.
func (s *still) pass(d time.Duration) {
	s.t.Helper()
	s.clock.move(d)
	for _, key := range s.keys {
		left, err := s.client.PTTL(s.t.Context(), key).Result()
		if err != nil {
			s.t.Fatal(err)
		}
		if left > 0 {
			if err := s.client.PExpire(s.t.Context(), key, left-d).Err(); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// one asks for one call, which is granted.
func (s *still) one(p driver.Priority) driver.Grant {
	s.t.Helper()
	g, err := s.store.Acquire(s.t.Context(), s.plan, driver.Ask{Runs: []driver.Run{{Priority: p, Size: 1, Count: 1}}})
	if err != nil || g.Runs[0].Granted != 1 {
		s.t.Fatalf("one call is answered %+v, %v", g, err)
	}
	return g
}

// TestExpiry lets days pass in which each kind of write is the first of an hour, and checks all
// keys that it used.
func TestExpiry(t *testing.T) {
	client := open(t, redistest.StartServer(t).URL())
	for mode, strict := range map[string]bool{"buckets": false, "strict": true} {
		t.Run(mode, func(t *testing.T) {
			s := stillIn(t, client, "rate_"+mode, strict)
			kept := func(keys ...string) {
				t.Helper()
				for _, key := range keys {
					left, err := client.PTTL(t.Context(), key).Result()
					// The test itself takes some time.
					if err != nil || left <= 47*time.Hour-time.Minute || left > 48*time.Hour {
						t.Fatalf("%s at %s: %s is kept for %s, want 47 to 48 h: %v", mode, s.clock.now, key, left, err)
					}
				}
			}
			global, low, day := s.keys[0], s.keys[1], s.keys[2]
			s.ask(driver.Low, false)
			kept(global, low)
			for range 40 {
				s.pass(20 * time.Minute)
				s.one(driver.High)
				kept(global, day)
				s.pass(20 * time.Minute)
				s.one(driver.Low)
				kept(global, low, day)
				s.pass(20*time.Minute - 5*time.Millisecond)
				g := s.one(driver.Low)
				kept(global, low, day)
				s.pass(10 * time.Millisecond) // and the next hour begins
				s.giveBack(g.At)
				kept(global, low, day)
				s.pass(30 * time.Minute)
				s.one(driver.Low)
				kept(global, low, day)
				s.pass(30*time.Minute - 5*time.Millisecond)
			}
		})
	}
}

// TestLostScriptChargesOnce: a script that the server has lost is sent again, and charges once.
func TestLostScriptChargesOnce(t *testing.T) {
	client := open(t, redistest.StartServer(t).URL())
	for mode, strict := range map[string]bool{"buckets": false, "strict": true} {
		t.Run(mode, func(t *testing.T) {
			s := stillIn(t, client, "rate", strict)
			s.ask(driver.Low, false)
			s.clock.move(time.Hour)
			require.NoError(t, client.ScriptFlush(t.Context()).Err())
			g, err := s.store.Acquire(t.Context(), s.plan, driver.Ask{Runs: []driver.Run{{Priority: driver.High, Size: 1, Count: 1}}})
			if err != nil || g.Runs[0].Granted != 1 || g.Remaining[driver.High] != s.plan.Burst-1 || g.Day.Used != 1 {
				t.Errorf("one call is answered %+v, %v, want %d to remain", g, err, s.plan.Burst-1)
			}
			require.NoError(t, client.ScriptFlush(t.Context()).Err())
			assert.NoError(t, s.store.Return(t.Context(), s.plan, driver.Returned{Priority: driver.High, Size: 1, At: g.At}))
		})
	}
}
