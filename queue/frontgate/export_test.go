package frontgate

// Known is of how many events the counters are known.
func Known(g *Gate) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.events)
}

// PollAfter is the poll interval by distance, with chance from 0 to 1.
var PollAfter = pollAfter
