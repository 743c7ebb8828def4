package kit

import "sync"

// Window is a limit of unacknowledged messages, shared by partitions. A quarter of it is
// reserved in equal parts, one for each partition, so that a partition whose messages stay
// unacknowledged for a while (a key being retried) does not stop the others. It is safe for
// concurrent use.
type Window[P comparable] struct {
	size int
	kick func(P)

	mu      sync.Mutex
	total   int
	taken   map[P]int
	waiting map[P]struct{}
}

// NewWindow makes a window of size messages. kick tells a refused partition that it may try
// again; kick must not wait.
func NewWindow[P comparable](size int, kick func(P)) *Window[P] {
	return &Window[P]{size: size, kick: kick, taken: map[P]int{}, waiting: map[P]struct{}{}}
}

// Size is the number of messages that the window holds.
func (w *Window[P]) Size() int { return w.size }

// Join adds a partition and gives it its part.
func (w *Window[P]) Join(p P) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken[p] = 0
}

// Leave removes a partition and frees the room that it holds.
func (w *Window[P]) Leave(p P) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total -= w.taken[p]
	delete(w.taken, p)
	delete(w.waiting, p)
	w.wake()
}

// Take reserves room for up to most messages, and returns the number. If it is 0, the window
// kicks the partition when it may try again.
func (w *Window[P]) Take(p P, most int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(most, w.free(p))
	if n <= 0 {
		w.waiting[p] = struct{}{}
		return 0
	}
	w.taken[p] += n
	w.total += n
	return n
}

func (w *Window[P]) free(p P) int {
	own := w.size / (4 * len(w.taken))
	kept := 0
	for other, n := range w.taken {
		if other != p {
			kept += max(0, own-n)
		}
	}
	free := w.size - w.total
	return min(free, max(own-w.taken[p], free-kept))
}

// Give returns the room of one message, unless the partition has left.
func (w *Window[P]) Give(p P) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.taken[p]; !ok {
		return
	}
	w.taken[p]--
	w.total--
	w.wake()
}

func (w *Window[P]) wake() {
	for p := range w.waiting {
		delete(w.waiting, p)
		w.kick(p)
	}
}
