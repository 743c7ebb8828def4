package redisratelimit_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

// still is a store whose clock stands still, in both modes with a day.
type still struct {
	t      *testing.T
	client redis.UniversalClient
	store  *redisratelimit.Store
	clock  *moment
	plan   *ratelimit.Plan
	keys   []string
}

func stillIn(t *testing.T, client redis.UniversalClient, name string, strict bool) *still {
	t.Helper()
	s := &still{
		t: t, client: client, store: newStore(t, client, name),
		clock: &moment{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)},
		plan:  planOfLimits(t, ratelimit.Limits{HardLimit: 50, Rate: 30, LowRate: 20, Strict: strict, Day: ratelimit.DayLimit{Limit: 1000}}),
	}
	redisratelimit.Clocked(s.store, s.clock.get)
	s.keys = redisratelimit.Keys(s.store, strict)
	return s
}

func (s *still) ask(p ratelimit.Priority, wait bool) ratelimit.Grant {
	s.t.Helper()
	g, err := s.store.Acquire(s.t.Context(), s.plan, ratelimit.Ask{Runs: []ratelimit.Run{{Priority: p, Size: 1, Count: 100, Wait: wait}}})
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

func (s *still) giveBack(at int64) {
	s.t.Helper()
	if err := s.store.Return(s.t.Context(), s.plan, ratelimit.Returned{Priority: ratelimit.Low, Size: 1, At: at}); err != nil {
		s.t.Fatal(err)
	}
}

var changes = regexp.MustCompile(`rdb_changes_since_last_save:(\d+)`)

// writes counts what do makes the server write.
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
	client := open(t, newServer(t).url())
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
			loud("the state begins", func() { s.ask(ratelimit.High, false) })
			silent("empty", func() { s.ask(ratelimit.High, false); s.ask(ratelimit.Low, false) })
			s.clock.move(time.Hour)
			var granted ratelimit.Grant
			loud("a grant", func() { granted = s.ask(ratelimit.Low, false) })
			silent("the low cap", func() { s.ask(ratelimit.Low, false) })
			loud("the rest", func() { s.ask(ratelimit.High, false) })
			silent("all of it", func() { s.ask(ratelimit.High, false); s.ask(ratelimit.Low, false) })
			loud("high that waits", func() { s.ask(ratelimit.High, true) })
			silent("low that yields", func() { s.ask(ratelimit.Low, false) })
			loud("one comes back", func() { s.giveBack(granted.At) })
			s.clock.move(s.plan.Delay + time.Microsecond)
			silent("one comes back too late", func() { s.giveBack(granted.At) })
		})
	}
}

// TestExpiry looks at all keys after each kind of write.
func TestExpiry(t *testing.T) {
	client := open(t, newServer(t).url())
	for mode, strict := range map[string]bool{"buckets": false, "strict": true} {
		t.Run(mode, func(t *testing.T) {
			s := stillIn(t, client, "rate_"+mode, strict)
			s.ask(ratelimit.Low, false)
			for round := range 4 { // and round the ring
				s.clock.move(time.Minute)
				g := s.ask(ratelimit.Low, false)
				for _, key := range s.keys {
					left, err := client.PTTL(t.Context(), key).Result()
					if err != nil || left <= 47*time.Hour || left > 48*time.Hour {
						t.Errorf("round %d: %s is kept for %s, want 48 h: %v", round, key, left, err)
					}
					if err := client.PExpire(t.Context(), key, time.Hour).Err(); err != nil {
						t.Fatal(err)
					}
				}
				s.giveBack(g.At)
				for _, key := range s.keys {
					if left, err := client.PTTL(t.Context(), key).Result(); err != nil || left <= 0 {
						t.Errorf("round %d: %s is kept for %s after a return: %v", round, key, left, err)
					}
				}
			}
		})
	}
}

// A script that the server has lost is sent again, and charges once.
func TestLostScriptChargesOnce(t *testing.T) {
	client := open(t, newServer(t).url())
	for mode, strict := range map[string]bool{"buckets": false, "strict": true} {
		t.Run(mode, func(t *testing.T) {
			s := stillIn(t, client, "rate", strict)
			s.ask(ratelimit.Low, false)
			s.clock.move(time.Hour)
			if err := client.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			g, err := s.store.Acquire(t.Context(), s.plan, ratelimit.Ask{Runs: []ratelimit.Run{{Priority: ratelimit.High, Size: 1, Count: 1}}})
			if err != nil || g.Runs[0].Granted != 1 || g.Remaining[ratelimit.High] != s.plan.Burst-1 || g.Day.Used != 1 {
				t.Errorf("one call is answered %+v, %v, want %d to remain", g, err, s.plan.Burst-1)
			}
			if err := client.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			if err := s.store.Return(t.Context(), s.plan, ratelimit.Returned{Priority: ratelimit.High, Size: 1, At: g.At}); err != nil {
				t.Error(err)
			}
		})
	}
}
