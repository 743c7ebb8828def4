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

// take takes up to so many places, and returns how many; if it takes none, it notes that
// the lane wants a kick when it may try again.
func (w *window) take(l *lane, most int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(most, w.free(l))
	if n <= 0 {
		w.waiting[l] = struct{}{}
		return 0
	}
	w.taken[l] += n
	w.total += n
	return n
}

func (w *window) free(l *lane) int {
	own := w.size / (4 * len(w.taken))
	kept := 0
	for other, n := range w.taken {
		if other != l {
			kept += max(0, own-n)
		}
	}
	free := w.size - w.total
	return min(free, max(own-w.taken[l], free-kept))
}

// give returns one place, unless the lane has left.
func (w *window) give(l *lane) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.taken[l]; !ok {
		return
	}
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
