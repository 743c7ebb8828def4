package frontgate

// Known is the number of events whose counters are known.
func Known(g *Gate) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.events)
}

// PollAfter is the poll interval by distance, with a random number from 0 to 1.
var PollAfter = pollAfter
