// Package signal wakes a loop that looks for work, and runs it: wake-ups before the loop looks
// count as one.
package signal

// Signal wakes the one loop that receives from it.
type Signal chan struct{}

// New returns a Signal.
func New() Signal { return make(Signal, 1) }

// Wake wakes the loop. It never blocks: a loop that is awake already needs no second wake-up,
// because it looks after it has received the first.
func (s Signal) Wake() {
	select {
	case s <- struct{}{}:
	default:
	}
}
