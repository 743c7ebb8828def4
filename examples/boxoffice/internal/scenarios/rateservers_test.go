package scenarios

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// planOf is the office's plan for the upstream's limit with so many workers.
func planOf(t *testing.T, workers int) *driver.Plan {
	t.Helper()
	plan, err := ratelimit.Limits{
		HardLimit: hardLimit, Rate: rate, LowRate: lowRate, Delay: 60 * time.Millisecond, Transit: 15 * time.Millisecond, Processes: workers,
	}.Plan()
	require.NoError(t, err)
	return plan
}

func normalOnServers(t *testing.T) {
	m := openMirror(t, 100*time.Millisecond, officePlan{})
	const span = 4 * time.Second
	// Known artists, for the control.
	m.reads(9001, 50, span, m.apis()...)
	m.done()
	before := m.upstreamStats()
	n := 0
	r := rounds(t, func() time.Duration { return m.reads(9001, 50, span, m.apis()...) }, func() time.Duration {
		var low sync.WaitGroup
		low.Go(func() {
			paced(200, span, func(i int) { check(t, "ask", m.ask(id(5001+n*800+i), event.Low)) })
		})
		p := m.reads(1+n*200, 50, span, m.apis()...)
		low.Wait()
		n++
		m.done()
		return p
	})
	readsWithin(t, r, 50*time.Millisecond)
	s := m.kept()
	// Prefetch may find an artist that was just read and not yet fetched, and ask for it as
	// well; both requests are carried out.
	if high, low := between(before, s, "high"), between(before, s, "low"); high < 200*n || high > 210*n || low < 800*n || low > 850*n {
		t.Errorf("%d calls of high and %d of low priority, want %d and %d", high, low, 200*n, 800*n)
	}
	for _, one := range []string{"1", id(200 * n), "5001", id(5000 + 800*n)} {
		if v := m.must(one); v.Freshness != artist.Fresh {
			t.Errorf("artist %s is %s", one, v.Freshness)
		}
	}
	measured(t, "worst second %d calls of %d", s.Worst.Calls, hardLimit)
}

func peakOnServers(t *testing.T) {
	others := elsewhere(t)
	m := openMirror(t, 50*time.Millisecond, officePlan{})
	const span = 5 * time.Second
	var highs, alls []float64
	most := 0.0
	next := 1
	load := func(high, low int) {
		from := next
		next += (high + low) * int(span/time.Second)
		var all sync.WaitGroup
		all.Go(func() {
			paced(low, span, func(i int) { check(t, "ask", m.ask(id(from+high*int(span/time.Second)+i), event.Low)) })
		})
		paced(high, span, func(i int) { check(t, "ask", m.ask(id(from+i), event.High)) })
		all.Wait()
	}
	load(200, 300) // the pipelines fill, and low falls behind
	for range 3 {
		before := m.upstreamStats()
		load(200, 300)
		after := m.upstreamStats()
		seconds := (after.Now - before.Now).Seconds()
		highs = append(highs, float64(between(before, after, "high"))/seconds)
		calls := float64(after.Calls - before.Calls)
		alls = append(alls, calls/seconds)
		most = max(most, calls-rate*seconds)
	}
	if burst := float64(planOf(t, 2).Burst); most > burst {
		t.Errorf("%.0f calls more than %d/s over %v, want at most the burst of %.0f", most, rate, span, burst)
	}
	share(t, "high and low together", alls, rate, used, others)
	share(t, "high", highs, 200, used, others)
	m.done()
	measured(t, "worst second %d calls of %d", m.kept().Worst.Calls, hardLimit)
}

func lowOnlyOnServers(t *testing.T) {
	others := elsewhere(t)
	m := openMirror(t, 50*time.Millisecond, officePlan{})
	const span = 4 * time.Second
	plan := planOf(t, 2)
	m.asks(1, 3000, event.Low)
	next := 3001
	var rates []float64
	for range 3 {
		before := m.upstreamStats()
		paced(500, span, func(i int) { check(t, "ask", m.ask(id(next+i), event.Low)) })
		next += 2000
		after := m.upstreamStats()
		seconds := (after.Now - before.Now).Seconds()
		low := float64(between(before, after, "low"))
		rates = append(rates, low/seconds)
		if low > lowRate*seconds+float64(plan.LowBurst) {
			t.Errorf("%.0f calls of low priority in %.2f s, want at most %d/s and a burst of %d", low, seconds, lowRate, plan.LowBurst)
		}
	}
	share(t, "low alone", rates, lowRate, 0.5, others) // the sentence is the upper bound; the limit has to be met
	m.done()
	s := m.kept()
	// As the upstream sees it a call is late by up to the delay, and one of each of the two
	// processes more: C + R * (1 s + D) + M.
	if most := plan.LowBurst + int(lowRate*(time.Second+plan.Delay).Seconds()) + 2; s.Classes["low"].Worst.Calls > most {
		t.Errorf("%d calls in the worst second, want at most %d", s.Classes["low"].Worst.Calls, most)
	}
	measured(t, "worst second of low %d calls", s.Classes["low"].Worst.Calls)
}

func highLagOnServers(t *testing.T) {
	const high, low = 1500, 500
	m := openMirror(t, 50*time.Millisecond, officePlan{})
	drain := func(low int) time.Duration {
		m.done()
		if low > 0 {
			m.asks(5001, low, event.Low)
		}
		began := time.Now()
		m.asks(1, high, event.High)
		eventually(t, "high is done", func() bool { return m.behind(artist.TopicHigh) == 0 })
		return time.Since(began)
	}
	drain(0) // members of the groups have their partitions
	r := rounds(t, func() time.Duration { return drain(0) }, func() time.Duration { return drain(low) })
	if r.ratio() > unchanged {
		t.Errorf("high took %v beside a backlog of low, alone %v: %.2f times, at most %.1f", r.judged, r.control, r.ratio(), unchanged)
	}
	m.done()
	m.kept()
	measured(t, "%d of high in %v beside a backlog of %d of low, alone in %v: %.2f times", high, r.judged.Round(10*time.Millisecond), low, r.control.Round(10*time.Millisecond), r.ratio())
}
