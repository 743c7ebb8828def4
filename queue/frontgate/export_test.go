package frontgate

import "time"

// Known is the number of events whose counters are known.
func Known(g *Gate) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.events)
}

// MinPoll and MaxPoll bound the poll interval.
const (
	MinPoll = minPoll
	MaxPoll = maxPoll
)

// PollAfter is the poll interval by distance, with a random number from 0 to 1.
var PollAfter = pollAfter

// Rounds are the sizes of rounds of 500 every 10 s after moments of one gate, each with
// the positions served, the visitors that joined the line, and the line's epoch.
func Rounds(moments ...[3]int64) (by []int64) {
	var s shows
	for i, m := range moments {
		at := time.Unix(0, 0).Add(time.Duration(i) * 10 * time.Second)
		s.add(show{at: at, serving: m[0], joined: m[1], gate: 1, line: uint64(m[2])}, 500, 10*time.Second)
		// Another process' round is soon after, and says nothing new.
		s.add(show{at: at.Add(4 * time.Second), serving: m[0], joined: m[1] + 1, gate: 1, line: uint64(m[2])}, 500, 10*time.Second)
		by = append(by, max(500, s.by))
	}
	return by
}
