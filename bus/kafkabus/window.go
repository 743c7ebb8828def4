package kafkabus

import "sync"

// window bounds how many messages of one subscription are unacknowledged.
//
// Its partitions share it. A quarter of it is kept apart in equal parts, one
// for each partition, so that a partition whose messages are not acknowledged
// for a while (a key being retried) does not stop the others.
type window struct {
	size int

	mu      sync.Mutex
	total   int
	taken   map[*claim]int
	waiting map[*claim]struct{}
	stopped bool
	idle    chan struct{} // closed when stopped and nothing is taken
}

func newWindow(size int) *window {
	return &window{size: size, taken: map[*claim]int{}, waiting: map[*claim]struct{}{}, idle: make(chan struct{})}
}

// stop lets nobody take a place any more.
func (w *window) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.stopped = true
		w.check()
	}
}

func (w *window) check() {
	if w.stopped && w.total == 0 {
		select {
		case <-w.idle:
		default:
			close(w.idle)
		}
	}
}

func (w *window) join(c *claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken[c] = 0
}

// leave gives back all that the claim holds.
func (w *window) leave(c *claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total -= w.taken[c]
	delete(w.taken, c)
	delete(w.waiting, c)
	w.wake()
	w.check()
}

// take takes a place, or notes that the claim wants a kick when it may try again.
func (w *window) take(c *claim) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return false
	}
	if !w.free(c) {
		w.waiting[c] = struct{}{}
		return false
	}
	w.taken[c]++
	w.total++
	return true
}

func (w *window) free(c *claim) bool {
	free := w.size - w.total
	if free <= 0 {
		return false
	}
	own := w.size / (4 * len(w.taken))
	if w.taken[c] < own {
		return true
	}
	kept := 0
	for other, n := range w.taken {
		if other != c {
			kept += max(0, own-n)
		}
	}
	return free > kept
}

// give returns one place.
func (w *window) give(c *claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken[c]--
	w.total--
	w.wake()
	w.check()
}

func (w *window) wake() {
	for c := range w.waiting {
		delete(w.waiting, c)
		c.kick()
	}
}
