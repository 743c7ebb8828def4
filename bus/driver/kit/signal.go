package kit

// Signal wakes one waiting goroutine, which receives from it. Signals that are sent before the
// goroutine receives are one.
type Signal chan struct{}

// NewSignal returns a Signal that is not sent.
func NewSignal() Signal { return make(Signal, 1) }

// Send never waits.
func (s Signal) Send() {
	select {
	case s <- struct{}{}:
	default:
	}
}
