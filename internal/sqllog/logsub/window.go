package logsub

import "sync"

// window bounds how many messages of one subscription are unacknowledged.
//
// Its lanes share it. A quarter of it is kept apart in equal parts, one for each
// lane, so that a lane whose messages are not acknowledged for a while (a key
// being retried) does not stop the others.
type window struct {
	size int

	mu      sync.Mutex
	total   int
	taken   map[*lane]int
	waiting map[*lane]struct{}
}

func newWindow(size int) *window {
	return &window{size: size, taken: make(map[*lane]int), waiting: make(map[*lane]struct{})}
}

func (w *window) join(l *lane) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken[l] = 0
}

// leave gives back all that the lane holds.
func (w *window) leave(l *lane) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total -= w.taken[l]
	delete(w.taken, l)
	delete(w.waiting, l)
	w.wake()
}

// take takes a place, or notes that the lane wants a kick when it may try again.
func (w *window) take(l *lane) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.free(l) {
		w.waiting[l] = struct{}{}
		return false
	}
	w.taken[l]++
	w.total++
	return true
}

func (w *window) free(l *lane) bool {
	free := w.size - w.total
	if free <= 0 {
		return false
	}
	own := w.size / (4 * len(w.taken))
	if w.taken[l] < own {
		return true
	}
	kept := 0
	for other, n := range w.taken {
		if other != l {
			kept += max(0, own-n)
		}
	}
	return free > kept
}

// give returns one place.
func (w *window) give(l *lane) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken[l]--
	w.total--
	w.wake()
}

func (w *window) wake() {
	for l := range w.waiting {
		delete(w.waiting, l)
		l.kick()
	}
}
