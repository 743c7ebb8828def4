package sse

import "testing"

// A burst that takes half of a backlog is written at once, and not cut while it
// waits for more to share the write.
func TestHalfABacklogDoesNotWait(t *testing.T) {
	for name, cfg := range map[string]Config{
		"frames": {MaxFrames: 20}, "bytes": {MaxBytes: 20 * len("data: x\n\n")},
	} {
		for _, lean := range []bool{false, true} {
			h := &Hub{cfg: cfg.withDefaults()}
			h.flusher = newFlusher(h) // which does not run: nothing else wakes
			s := &stream{hub: h, wake: make(chan struct{}, 1), awaited: true}
			hurries := s.wake
			if lean {
				s.lean, hurries = &leanConn{}, h.flusher.hurry
			}
			f := h.frame("", "", []byte("data: x\n\n"))
			for range 10 {
				s.push(&f)
			}
			if len(hurries) > 0 || len(h.flusher.queue) != 1 {
				t.Errorf("%s, lean %t: half of it hurries already, or is queued %d times", name, lean, len(h.flusher.queue))
			}
			s.push(&f)
			if len(hurries) != 1 || len(h.flusher.queue) != 1 {
				t.Errorf("%s, lean %t: more than half waits, or is queued %d times", name, lean, len(h.flusher.queue))
			}
		}
	}
}
