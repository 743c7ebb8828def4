package redisratelimit_test

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/internal/budget"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

// TestTwins: the scripts answer and store the same as the Go of package budget, for random
// histories: asks, returns, time that passes or is set, lost keys, other servers and plans.
func TestTwins(t *testing.T) {
	client := open(t, servicetest.Redis(t))
	// The same histories in every run; -rapid.seed has others.
	if flag.Lookup("rapid.seed").Value.String() == "0" {
		require.NoError(t, flag.Set("rapid.seed", "1"))
	}
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprint("strict=", strict), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) { twins(rt, client, name(t, client), strict) })
		})
	}
}

var planOf = rapid.Custom(func(t *rapid.T) *driver.Plan {
	rate := rapid.SampledFrom([]int{1, 3, 7, 450, 999_983}).Draw(t, "rate")
	burst := rapid.SampledFrom([]int{1, 2, 5, 41, 100_000}).Draw(t, "burst")
	p := &driver.Plan{
		Rate: rate, LowRate: rapid.IntRange(1, rate).Draw(t, "low rate"),
		Burst: burst, LowBurst: rapid.IntRange(1, burst).Draw(t, "low burst"),
		Delay: 20 * time.Millisecond, Yield: 20 * time.Millisecond,
		LowShare: rapid.SampledFrom([]int{0, 1, 5, 60, 100}).Draw(t, "low share"), Hold: 150 * time.Millisecond,
	}
	if rapid.Bool().Draw(t, "with a day") {
		p.Day.Limit = rapid.Int64Range(1, 60).Draw(t, "day")
		p.Day.HighReserve = rapid.Int64Range(0, p.Day.Limit).Draw(t, "reserve")
		p.Day.Offset = time.Duration(rapid.IntRange(-23, 23).Draw(t, "offset")) * time.Hour
	}
	return p
})

var strictPlanOf = rapid.Custom(func(t *rapid.T) *driver.Plan {
	p := planOf.Draw(t, "plan")
	p.Strict, p.Window = true, time.Second+p.Delay
	p.Rate = rapid.SampledFrom([]int{1, 2, 5, 8, 41}).Draw(t, "strict rate")
	p.LowRate = rapid.IntRange(1, p.Rate).Draw(t, "strict low rate")
	p.Burst, p.LowBurst = p.Rate, p.LowRate
	return p
})

func twins(t *rapid.T, client redis.UniversalClient, name string, strict bool) {
	ctx := context.Background()
	s, err := redisratelimit.New(client, redisratelimit.Config{Name: name})
	require.NoError(t, err)
	m := budget.Moment{Server: strings.Repeat("a", 40), Now: time.Date(2026, 3, 1, 23, 59, 59, 0, time.UTC).UnixMicro()}
	redisratelimit.Clocked(s, func() (string, int64) { return m.Server, m.Now })
	keys := redisratelimit.Keys(s, strict)
	require.NoError(t, client.Del(ctx, keys...).Err())
	plans := planOf
	if strict {
		plans = strictPlanOf
	}
	plan := plans.Draw(t, "plan")
	model := twin{}
	var granted []driver.Returned
	var edges []int64 // times at which an answer changes
	seen := driver.DayCount{}
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		switch rapid.SampledFrom([]string{"ask", "ask", "ask", "ask", "return", "time", "edge", "edge", "odd"}).Draw(t, "step") {
		case "ask":
			ask := driver.Ask{Runs: rapid.SliceOfN(runOf(plan), 1, 4).Draw(t, "runs"), Day: seen}
			want := model.Acquire(plan, ask, m)
			got, err := s.Acquire(ctx, plan, ask)
			require.NoError(t, err)
			require.Truef(t, reflect.DeepEqual(got, want), "%+v\nasked %+v\nscript %+v\nmodel  %+v", plan, ask, got, want)
			edges = append(edges, got.At-1_000_000, got.At+plan.Delay.Microseconds(), got.At+plan.Window.Microseconds(), got.At+plan.Yield.Microseconds(), got.At+plan.Hold.Microseconds())
			for i, r := range got.Runs {
				edges = append(edges, m.Now+r.RetryAfter.Microseconds())
				for range min(r.Granted, 3) {
					granted = append(granted, driver.Returned{Priority: ask.Runs[i].Priority, Size: ask.Runs[i].Size, At: got.At})
				}
			}
			if rapid.Bool().Draw(t, "see the day") {
				seen = got.Day
			}
		case "return":
			if len(granted) == 0 {
				continue
			}
			// Mostly of the last ones, and sometimes twice.
			r := granted[len(granted)-1-rapid.IntRange(0, min(4, len(granted)-1)).Draw(t, "which")]
			r.Day = seen
			model.Return(plan, r, m)
			require.NoError(t, s.Return(ctx, plan, r))
		case "time":
			m.Now += rapid.SampledFrom([]int64{1, 500, 2_222, 2_223, 19_999, 20_001, 142_857, 999_999, 1_020_000, 86_400_000_000}).Draw(t, "µs")
		case "edge":
			if len(edges) > 0 {
				near := edges[max(0, len(edges)-8):]
				m.Now = rapid.SampledFrom(near).Draw(t, "edge") + rapid.Int64Range(-1, 1).Draw(t, "beside")
			}
		case "odd":
			model.odd(t, ctx, client, keys, &m, &seen)
			if rapid.IntRange(0, 3).Draw(t, "new plan") == 0 {
				plan = plans.Draw(t, "plan")
			}
		}
		got, err := stored(ctx, client, keys, strict)
		require.NoError(t, err)
		if want := model.comparable(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v\nscript %+v\nmodel  %+v", plan, got, want)
		}
	}
}

func runOf(p *driver.Plan) *rapid.Generator[driver.Run] {
	return rapid.Custom(func(t *rapid.T) driver.Run {
		r := driver.Run{
			Priority: driver.Priority(rapid.IntRange(0, 1).Draw(t, "priority")),
			Count:    rapid.SampledFrom([]int{1, 1, 2, 17, 1000}).Draw(t, "count"),
			Wait:     rapid.Bool().Draw(t, "wait"),
		}
		most := p.LowBurst
		if r.Priority == driver.High {
			most = p.Burst
		}
		r.Size = rapid.IntRange(1, min(most, 6)).Draw(t, "size")
		return r
	})
}

// twin is the state in Go.
type twin struct{ budget.State }

// odd does something that should never happen.
func (w *twin) odd(t *rapid.T, ctx context.Context, client redis.UniversalClient, keys []string, m *budget.Moment, seen *driver.DayCount) {
	lose := func(key int) {
		require.NoError(t, client.Del(ctx, keys[key]).Err())
	}
	switch rapid.SampledFrom([]string{"back", "far back", "over midnight", "server", "global", "low", "day", "all", "forget"}).Draw(t, "oddity") {
	case "back":
		m.Now -= rapid.Int64Range(1, 1_000_000).Draw(t, "µs")
	case "far back":
		m.Now -= rapid.Int64Range(1_000_001, 5_000_000).Draw(t, "µs")
	case "over midnight":
		m.Now -= rapid.SampledFrom([]int64{1, 3}).Draw(t, "days") * 86_400_000_000
	case "server":
		m.Server = strings.Repeat(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id"), 40)
	case "global":
		lose(0)
		w.Buckets, w.Windows = budget.Buckets{}, budget.Windows{}
	case "low":
		lose(1)
		w.Buckets.HasLow, w.Buckets.Low, w.Windows.Low = false, budget.Bucket{}, budget.Ring{}
	case "day":
		lose(2)
		w.Day = budget.Day{}
	case "all":
		for i := range keys {
			lose(i)
		}
		*w = twin{}
	case "forget":
		*seen = driver.DayCount{}
	}
}

// comparable returns the state with the rings' entries that still count, and without the
// content of lost keys.
func (w *twin) comparable() twin {
	c := *w
	c.Windows.Global, c.Windows.Low = live(c.Windows.Global), live(c.Windows.Low)
	if c.Windows.Server == "" {
		c.Windows = budget.Windows{}
	}
	if c.Buckets.Server == "" {
		c.Buckets = budget.Buckets{}
	}
	return c
}

func live(r budget.Ring) budget.Ring {
	var times []int64
	for i := r.Tail; i < r.Count; i++ {
		times = append(times, r.Times[i%r.Size])
	}
	r.Times = times
	return r
}

// stored reads the state that the scripts have stored.
func stored(ctx context.Context, client redis.UniversalClient, keys []string, strict bool) (twin, error) {
	var values [3]string
	for i, key := range keys {
		v, err := client.Get(ctx, key).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return twin{}, err
		}
		values[i] = v
	}
	var w twin
	if d := numbers(values[2]); len(d) == 2 {
		w.Day = budget.Day{Known: true, DayCount: driver.DayCount{Day: d[0], Used: d[1]}}
	}
	global := values[0]
	switch {
	case global == "":
	case strict:
		s, n := numbers(global[:16]), numbers(global[56:])
		w.Windows = budget.Windows{
			Server: global[16:56], Share: s[0], Waits: s[1], Time: n[0], Yield: n[1], Global: ringOf(n[2:]), Low: ringOf(numbers(values[1])),
		}
	default:
		n := numbers(global[40:])
		w.Buckets = budget.Buckets{Server: global[:40], Born: n[0], Global: budget.Bucket{Time: n[1], Tokens: n[2]}, Yield: n[3], Share: n[4], Waits: n[5]}
		if low := numbers(values[1]); len(low) == 2 {
			w.Buckets.HasLow, w.Buckets.Low = true, budget.Bucket{Time: low[0], Tokens: low[1]}
		}
	}
	return w, nil
}

func ringOf(n []int64) budget.Ring {
	if len(n) < 4 {
		return budget.Ring{}
	}
	return live(budget.Ring{Size: n[0], Born: n[1], Tail: n[2], Count: n[3], Times: n[4:]})
}

// numbers unpacks doubles.
func numbers(s string) []int64 {
	var out []int64
	for ; len(s) >= 8; s = s[8:] {
		out = append(out, int64(math.Float64frombits(binary.LittleEndian.Uint64([]byte(s[:8])))))
	}
	return out
}
