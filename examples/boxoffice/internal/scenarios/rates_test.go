package scenarios

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
	"github.com/millrace-go/millrace/ratelimit"
)

// Calls of the upstream between two looks at it.
func between(a, b upstream.Stats, class string) int {
	return int(b.Classes[class].Calls - a.Classes[class].Calls)
}

// Both priorities ask for less than the budget: each gets all its calls, and readers
// wait for nothing, though the upstream is slow.
func TestScenario01Normal(t *testing.T) { columns(t, normalInABubble, normalOnServers) }

func normalInABubble(t *testing.T) {
	const span = 3 * time.Second
	bubble(t, setup{latency: 100 * time.Millisecond}, func(t *testing.T, w *town) {
		w.works(t)
		w.due(t, 5001, 200*3) // the artists of 200/s in the same time
		w.prefetches(t, 200)
		reads := w.read(t, 1, 50, span)
		if took := eventually(t, "all is done", func() bool {
			return w.behind(t, artist.TopicHigh)+w.behind(t, artist.TopicLow) == 0 && w.mirror.Stats().Waiting == 0
		}); took > 3*time.Second {
			t.Errorf("the last of it took %v, the target is 3 s", took)
		}
		reads.atOnce(t, 50*time.Millisecond)
		s := w.kept(t)
		// Prefetch may find an artist that was just read and not yet fetched, and ask
		// for it when it is.
		if high, low := s.Classes["high"].Calls, s.Classes["low"].Calls; high != 150 || low < 600 || low > 630 {
			t.Errorf("%d calls of high and %d of low priority, want 150 and 600", high, low)
		}
		for _, id := range []string{"1", "150", "5001", "5600"} {
			if v := w.get(t, id); v.Freshness != artist.Fresh {
				t.Errorf("artist %s is %s", id, v.Freshness)
			}
		}
	})
}

// Both ask for more than the budget: high gets all its calls, low the rest, and the
// 450/s are neither left unused nor exceeded, also right after a rest, when the
// bucket is full and a backlog is there.
func TestScenario02Peak(t *testing.T) { columns(t, peakInABubble, peakOnServers) }

func peakInABubble(t *testing.T) {
	bubble(t, setup{latency: 50 * time.Millisecond}, func(t *testing.T, w *town) {
		w.due(t, 5001, 300*6)
		w.prefetches(t, 300)
		if d, err := w.limiter.Allow(t.Context(), ratelimit.High); err != nil || d.Allowed {
			t.Fatalf("an empty bucket grants: %+v, %v", d, err) // and is filled from now on
		}
		w.read(t, 1, 200, 2*time.Second)
		w.works(t)
		w.read(t, 401, 200, 2*time.Second)
		before := w.api.Stats(0)
		reads := w.read(t, 801, 200, 2*time.Second)
		after := w.api.Stats(0)
		span := (after.Now - before.Now).Seconds()
		high, low := between(before, after, "high"), between(before, after, "low")
		t.Logf("%.1f calls/s of high and %.1f of low priority over %.2f s", float64(high)/span, float64(low)/span, span)
		burst := w.limiter.Plan().Burst
		if got, want := high+low, rate*span; float64(got) < 0.99*want || float64(got) > want+float64(burst) {
			t.Errorf("%d calls in %.2f s, want %.0f of %d/s", got, span, want, rate)
		}
		if want := 200 * span; math.Abs(float64(high)-want) > 0.05*want {
			t.Errorf("%d calls of high priority, want %.0f", high, want)
		}
		reads.atOnce(t, 50*time.Millisecond)
		w.kept(t)
	})
}

// Low alone has its cap, for any demand.
func TestScenario11LowOnly(t *testing.T) { columns(t, lowOnlyInABubble, lowOnlyOnServers) }

func lowOnlyInABubble(t *testing.T) {
	bubble(t, setup{latency: 50 * time.Millisecond}, func(t *testing.T, w *town) {
		w.works(t)
		w.due(t, 1, 1500)
		w.prefetches(t, 1000)
		time.Sleep(time.Second) // of the bubble: the pipelines fill
		before := w.api.Stats(0)
		time.Sleep(5 * time.Second / 2)
		after := w.api.Stats(0)
		span := (after.Now - before.Now).Seconds()
		low, want := between(before, after, "low"), lowRate*span
		t.Logf("%.1f calls/s", float64(low)/span)
		if float64(low) > want+float64(w.limiter.Plan().LowBurst) || float64(low) < 0.99*want {
			t.Errorf("%d calls of low priority in %.2f s, want %.0f", low, span, want)
		}
		if most := lowRate + w.limiter.Plan().LowBurst + 1; w.kept(t).Worst.Calls > most {
			t.Errorf("%d calls in the worst second, want at most %d", after.Worst.Calls, most)
		}
	})
}

// High falls behind while low has work for seconds: low is held, and high takes
// no longer than it would alone.
func TestScenario16HighLagGrows(t *testing.T) { columns(t, highLagInABubble, highLagOnServers) }

func highLagInABubble(t *testing.T) {
	const high, low = 700, 500
	drain := func(t *testing.T, w *town, low int) (took time.Duration, during int) {
		if low > 0 {
			w.due(t, 5001, low)
			w.prefetches(t, low+1)
		}
		for i := range high {
			out, err := w.mirror.Refresh(t.Context(), strconv.Itoa(i+1))
			if check(t, "ask for a refresh", err); out.Status != artist.RefreshQueued {
				t.Fatalf("a refresh was not queued: %+v", out)
			}
		}
		eventually(t, "all is asked for", func() bool {
			return w.behind(t, artist.TopicHigh) == high && w.behind(t, artist.TopicLow) == low
		})
		r := w.works(t)
		held, first := false, 0
		took = eventually(t, "high is done", func() bool {
			calls := int(w.api.Stats(time.Millisecond).Classes["low"].Calls)
			if r.Status()[1].Held {
				if !held {
					held, first = true, calls
				}
				during = calls - first
			}
			return w.behind(t, artist.TopicHigh) == 0
		})
		if low > 0 && !held {
			t.Error("low was never held back")
		}
		eventually(t, "low is done as well", func() bool { return w.behind(t, artist.TopicLow) == 0 })
		w.kept(t)
		return took, during
	}
	s := setup{latency: 50 * time.Millisecond, mirror: artist.Config{Queue: 2 * high}, worker: artist.WorkerConfig{HoldAbove: 100}}
	var alone, beside time.Duration
	var during int
	bubble(t, s, func(t *testing.T, w *town) { alone, _ = drain(t, w, 0) })
	bubble(t, s, func(t *testing.T, w *town) { beside, during = drain(t, w, low) })
	t.Logf("%d requests of high priority: %v alone, %v with %d of low beside them", high, alone, beside, low)
	if float64(beside) > 1.2*float64(alone) {
		t.Errorf("high took %v, alone %v: more than 1.2 times", beside, alone)
	}
	if during > 200 {
		t.Errorf("%d calls of low priority while it was held, want none but what it had begun", during)
	}
}
