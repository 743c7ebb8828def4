package bus

import "sync"

// gate holds a consumer back. While it is closed, no messages are fetched or handed out; those
// that are out are finished. A nil gate is open.
type gate struct {
	mu     sync.Mutex
	closed bool
	reason string        // why it is closed, or open
	turn   chan struct{} // closed and replaced by every change
}

func newGate() *gate { return &gate{turn: make(chan struct{})} }

// set closes or opens the gate and reports whether its state changed.
func (g *gate) set(closed bool, reason string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reason = reason
	if g.closed == closed {
		return false
	}
	g.closed = closed
	close(g.turn)
	g.turn = make(chan struct{})
	return true
}

func (g *gate) held() bool {
	held, _ := g.state()
	return held
}

func (g *gate) state() (held bool, reason string) {
	if g == nil {
		return false, ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed, g.reason
}

// changed returns a channel that is closed at the next change.
func (g *gate) changed() <-chan struct{} {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.turn
}
