package limitproof

import (
	"slices"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream/window"
)

// span is a time of boottime.
type span struct{ from, to time.Duration }

func (s span) seconds() float64 { return (s.to - s.from).Seconds() }

// figures are the upstream's figures of an act.
type figures struct {
	calls       int
	high, low   float64 // arrivals per second, while it was measured
	arrived     int     // in the fullest second
	sent        int     // the same by the time of sending
	above       int     // calls that were sent into a second that was full
	low1        int     // low calls sent in the fullest second of them
	lowLong     int     // and in the fullest span of longWindow
	highArrived []time.Duration
	sentAt      []time.Duration // in order
}

// longWindow is the window in which a rate counts as sustained.
const longWindow = 10 * time.Second

// measure reads the log of an act. The windows are of all calls, the rates of those
// that arrived within a span.
func measure(calls []upstream.Call, within span, hard int) figures {
	f := figures{calls: len(calls)}
	var arrived, low []time.Duration
	var rates [2]int
	for _, c := range calls {
		arrived, f.sentAt = append(arrived, c.Arrival), append(f.sentAt, c.Sent)
		of := 0
		if c.Priority == "low" {
			of, low = 1, append(low, c.Sent)
		} else {
			f.highArrived = append(f.highArrived, c.Arrival)
		}
		if c.Arrival >= within.from && c.Arrival < within.to {
			rates[of]++
		}
	}
	slices.Sort(f.sentAt)
	slices.Sort(low)
	f.high, f.low = float64(rates[0])/within.seconds(), float64(rates[1])/within.seconds()
	f.arrived = window.Worst(arrived, time.Second).Calls
	f.sent, f.above = window.Worst(f.sentAt, time.Second).Calls, window.Above(f.sentAt, time.Second, hard)
	f.low1, f.lowLong = window.Worst(low, time.Second).Calls, window.Worst(low, longWindow).Calls
	return f
}

// sentWithin counts the calls sent in a span.
func (f figures) sentWithin(s span) int {
	from, _ := slices.BinarySearch(f.sentAt, s.from)
	to, _ := slices.BinarySearch(f.sentAt, s.to)
	return max(0, to-from)
}

// behind compares the calls with a server that does nothing for x and then takes rate
// per second, and returns the least x for which the calls are never fewer: after any
// time t since the beginning, at least rate·(t−x) have arrived.
func behind(arrived []time.Duration, from, end time.Duration, rate int) time.Duration {
	var most time.Duration
	n := 0
	look := func(at time.Duration) {
		owed := time.Duration(n) * time.Second / time.Duration(rate)
		most = max(most, at-from-owed)
	}
	for _, at := range arrived {
		if at > end {
			break
		}
		look(at) // just before it
		n++
	}
	look(end)
	return most
}

// firstSent is when the first call of a span was sent.
func (f figures) firstSent(s span) (time.Duration, bool) {
	i, _ := slices.BinarySearch(f.sentAt, s.from)
	if i == len(f.sentAt) || f.sentAt[i] >= s.to {
		return 0, false
	}
	return f.sentAt[i], true
}
