package upstream

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func gateAt(s *staged, limit int, banFor time.Duration) *gate {
	return newGate(Config{Clock: s.clock, Limit: limit, BanFor: banFor}.withDefaults())
}

func TestLimitIsExact(t *testing.T) {
	const start = 7 * time.Second
	fill := func(s *staged, g *gate) {
		for i := range 500 {
			s.set(start + time.Duration(i)*2*time.Millisecond)
			if k := g.arrive(false); k.banned > 0 {
				t.Fatalf("call %d of 500 is refused", i+1)
			}
		}
	}
	for name, c := range map[string]struct {
		at         time.Duration
		violations int64
	}{
		"one second after the first":       {start + second, 0},
		"a nanosecond before that":         {start + second - 1, 1},
		"at the time of the last":          {start + 998*time.Millisecond, 1},
		"a nanosecond before the next one": {start + second + 2*time.Millisecond - 1, 0},
	} {
		var s staged
		g := gateAt(&s, 500, 10*time.Second)
		fill(&s, g)
		s.set(c.at)
		k := g.arrive(false)
		if g.violations != c.violations || (k.banned > 0) != (c.violations > 0) {
			t.Errorf("%s: %d violations, want %d; banned for %v", name, g.violations, c.violations, k.banned)
		}
		if want := 500 + int(c.violations); g.counter.Worst().Calls != want {
			t.Errorf("%s: worst window %+v, want %d calls", name, g.counter.Worst(), want)
		}
	}
}

func TestGateAgreesWithNaiveCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 6).Draw(t, "limit")
		banFor := time.Duration(rapid.IntRange(1, 3000).Draw(t, "ban ms")) * time.Millisecond
		steps := rapid.SliceOfN(rapid.SampledFrom([]time.Duration{
			0, 1, 100 * time.Millisecond, 250 * time.Millisecond, 999999999, second, second + 1, 4 * second,
		}), 1, 60).Draw(t, "steps")
		var s staged
		g := gateAt(&s, limit, banFor)
		var times []time.Duration
		var until time.Duration
		var violations, bans int64
		for _, step := range steps {
			now := s.clock() + step
			s.set(now)
			times = append(times, now)
			n := 0
			for _, at := range times {
				if at > now-second {
					n++
				}
			}
			if n > limit {
				violations++
				if now >= until {
					bans++
				}
				until = now + banFor
			}
			if k := g.arrive(false); k.arrival != now || k.banned != max(until-now, 0) {
				t.Fatalf("at %v: %+v, want a ban until %v", now, k, until)
			}
		}
		if g.violations != violations || g.bans != bans || g.calls != int64(len(times)) {
			t.Fatalf("%d violations, %d bans, %d calls; want %d, %d, %d", g.violations, g.bans, g.calls, violations, bans, len(times))
		}
	})
}

func TestBan(t *testing.T) {
	var s staged
	u := open(t, Config{Clock: s.clock, Limit: 2})
	status := func(at time.Duration) (int, string) {
		s.set(at)
		rec := do(t, u, "GET", "/artists/1", "")
		return rec.Code, rec.Header().Get("Retry-After")
	}
	for i, c := range []struct {
		at     time.Duration
		status int
		retry  string
	}{
		{1 * second, 200, ""},
		{1 * second, 200, ""},
		{1*second + 5, 429, "10"}, // the third within a second
		{5 * second, 429, "7"},    // counts, and prolongs nothing
		{11*second + 4, 429, "1"}, // the last nanosecond
		{11*second + 5, 200, ""},  // the end
		{11*second + 6, 429, "10"},
		{15 * second, 429, "7"},
		{15 * second, 429, "7"},
		{15 * second, 429, "10"}, // a violation restarts the ban
		{25*second - 1, 429, "1"},
		{25 * second, 200, ""},
	} {
		if got, retry := status(c.at); got != c.status || retry != c.retry {
			t.Errorf("call %d at %v: %d, Retry-After %q; want %d, %q", i+1, c.at, got, retry, c.status, c.retry)
		}
	}
	st := u.Stats(0)
	if st.Calls != 12 || st.Violations != 3 || st.Bans != 2 || st.Refused != 8 || st.BannedUntil != 0 {
		t.Errorf("%+v", st)
	}
	if st.Worst.Calls != 3 || st.Worst.End != second+5 {
		t.Errorf("worst window: %+v", st.Worst)
	}
	if st.Statuses[http.StatusTooManyRequests] != 8 || st.Statuses[http.StatusOK] != 4 {
		t.Errorf("statuses: %v", st.Statuses)
	}
}

func TestDailyBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		u := open(t, Config{Clock: func() time.Duration { return time.Since(start) }, DailyBudget: 3})
		time.Sleep(20 * time.Hour) // a bubble begins at midnight UTC
		for i, want := range []int{200, 200, 200, 429, 429} {
			rec := do(t, u, "GET", "/artists/1", "")
			if rec.Code != want {
				t.Fatalf("call %d: %d, want %d", i+1, rec.Code, want)
			}
			if want == 429 && rec.Header().Get("Retry-After") != strconv.Itoa(4*3600) {
				t.Errorf("call %d: Retry-After %q, want the 4 hours to midnight", i+1, rec.Header().Get("Retry-After"))
			}
		}
		if st := u.Stats(0); st.Today != 5 || st.OverBudget != 2 || st.Violations != 0 || st.Refused != 2 || st.Bans != 0 {
			t.Errorf("%+v", st)
		}
		time.Sleep(4 * time.Hour)
		if st := u.Stats(0); st.Today != 0 {
			t.Errorf("a new day begins with %d calls", st.Today)
		}
		assert.Equal(t, 200, do(t, u, "GET", "/artists/1", "").Code, "the next day")
		if st := u.Stats(0); st.Today != 1 || st.OverBudget != 2 {
			t.Errorf("the next day: %+v", st)
		}
	})
}

// A call that arrived before a reset and is answered after it is in no count.
func TestResetForgets(t *testing.T) {
	var s staged
	u := open(t, Config{Clock: s.clock, Limit: 1})
	fault(t, u, `{"kind":"status","status":500,"calls":1}`)
	fault(t, u, `{"kind":"truncated"}`)
	do(t, u, "GET", "/artists/1", "", HeaderInstance, "a")
	do(t, u, "GET", "/artists/1", "")
	if st := u.Stats(0); st.Calls != 2 || st.Bans != 1 || st.Faults["status_500"] != 1 || st.Log.Calls != 2 || st.Instances["a"] != 1 {
		t.Fatalf("before: %+v", st)
	}
	open := u.gate.arrive(false)
	require.Equal(t, http.StatusNoContent, do(t, u, "POST", "/_/reset", "").Code, "reset")
	u.gate.identify(open, identity{class: classLow, instance: "b"})
	u.gate.decide(open, 200)
	u.gate.finish(open, time.Second)
	st := u.Stats(0)
	if st.Calls+st.Violations+st.Bans+st.Refused+st.Today+st.Late+st.Log.Calls+st.Queue.Count+st.Handler.Count != 0 ||
		len(st.Faults)+len(st.Statuses)+len(st.Instances) != 0 || st.Worst.Calls != 0 || st.BannedUntil != 0 || st.Classes["low"].Calls != 0 {
		t.Errorf("after: %+v", st)
	}
	assert.Equal(t, 200, do(t, u, "GET", "/artists/1", "", HeaderInstance, "c").Code, "the ban or a fault outlived the reset")
	if st := u.Stats(0); st.Calls != 1 || st.Log.Calls != 1 || st.Instances["c"] != 1 {
		t.Errorf("a call after it: %+v", st)
	}
}
