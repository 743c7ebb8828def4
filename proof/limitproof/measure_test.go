package limitproof

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
)

const ms = time.Millisecond

func TestMeasure(t *testing.T) {
	var calls []upstream.Call
	add := func(sent, arrival time.Duration, priority string) {
		calls = append(calls, upstream.Call{Sent: sent, Arrival: arrival, Priority: priority})
	}
	// The third is delayed, and arrives within a second of three others.
	add(100*ms, 110*ms, "high")
	add(900*ms, 910*ms, "low")
	add(1300*ms, 2450*ms, "low")
	add(2400*ms, 2410*ms, "high")
	add(2500*ms, 2510*ms, "low")
	add(2600*ms, 2610*ms, "high")
	f := measure(calls, span{900 * ms, 2600 * ms}, 2)
	if f.calls != 6 || f.arrived != 4 || f.sent != 3 || f.above != 1 || f.low1 != 2 || f.lowLong != 3 {
		t.Errorf("%+v", f)
	}
	assert.Equalf(t, 1/1.7, f.high, "high %v/s", f.high)
	assert.Equalf(t, 3/1.7, f.low, "low %v/s", f.low)
	for _, c := range []struct {
		span  span
		n     int
		first time.Duration
	}{
		{span{0, 3000 * ms}, 6, 100 * ms}, {span{900 * ms, 2400 * ms}, 2, 900 * ms}, {span{901 * ms, 1300 * ms}, 0, 0}, {span{2601 * ms, 4000 * ms}, 0, 0},
		{span{20 * ms, 10 * ms}, 0, 0},
	} {
		first, ok := f.firstSent(c.span)
		if n := f.sentWithin(c.span); n != c.n || first != c.first || ok != (n > 0) {
			t.Errorf("%v: %d calls, the first at %v, %v", c.span, n, first, ok)
		}
	}
}

func TestBehind(t *testing.T) {
	at := func(list ...int) []time.Duration {
		var out []time.Duration
		for _, n := range list {
			out = append(out, time.Duration(n)*ms)
		}
		return out
	}
	// 100 per second: one each 10 ms.
	for _, c := range []struct {
		arrived []time.Duration
		end     int
		want    time.Duration
	}{
		{at(), 30, 30 * ms},                       // nothing ever came
		{at(5, 15, 25), 30, 5 * ms},               // each 5 ms late
		{at(5, 6, 7, 8), 30, 5 * ms},              // the first decides when the rest is early
		{at(1, 2, 3, 53), 53, 23 * ms},            // ahead by three, then behind
		{at(1, 2, 3), 100, 70 * ms},               // and never caught up
		{at(1, 2, 3, 200, 201), 100, 70 * ms},     // calls after the end do not count
		{at(10, 20, 30, 40, 50, 60), 60, 10 * ms}, // exactly its rate
	} {
		from := 1000 * ms
		var arrived []time.Duration
		for _, a := range c.arrived {
			arrived = append(arrived, from+a)
		}
		assert.Equalf(t, c.want, behind(arrived, from, from+time.Duration(c.end)*ms, 100), "%v until %d ms", c.arrived, c.end)
	}
}

func TestSum(t *testing.T) {
	s := sum([]done{
		{Written: 3, Failed: 1, Acquired: 6, Returned: 1, Asked: 9, Refused: 3, Trips: 4, Collections: 5, Pause: 2 * ms, Slowest: ms},
		{Written: 4, Failed: 1, Acquired: 5, Returned: 1, FirstHigh: 70, Pause: ms, Slowest: 3 * ms},
		{FirstHigh: 80},
	})
	if s != (done{Written: 7, Failed: 2, Acquired: 11, Returned: 2, Asked: 9, Refused: 3, Trips: 4, Collections: 5, FirstHigh: 70, Pause: 2 * ms, Slowest: 3 * ms}) {
		t.Errorf("%+v", s)
	}
	assert.Equal(t, 2, s.expired(), "expired")
	if n := (done{Returned: 1}).expired(); n != 0 { // a grant without a taker
		t.Errorf("%d expired", n)
	}
}

func TestComplete(t *testing.T) {
	calls := []upstream.Call{{Sent: 1}, {Sent: 2}}
	good := upstream.Stats{Calls: 2, Limit: 5}
	assert.NoError(t, complete(good, calls))
	for name, change := range map[string]func(s *upstream.Stats){
		"one is not logged":    func(s *upstream.Stats) { s.Calls = 3 },
		"the log lost some":    func(s *upstream.Stats) { s.Log.Lost = 1 },
		"times are too late":   func(s *upstream.Stats) { s.Late = 1 },
		"violations of no one": func(s *upstream.Stats) { s.Violations = 1 },
		"windows of no one":    func(s *upstream.Stats) { s.Worst.Calls = 6 },
	} {
		s := good
		change(&s)
		assert.Errorf(t, complete(s, calls), "%s: no error", name)
	}
	assert.Error(t, complete(good, []upstream.Call{{Sent: 1}, {}}), "a call without a time: no error")
}
