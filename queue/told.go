package queue

import (
	"sync"
	"sync/atomic"
	"time"
)

// told remembers the positions that came from the store itself and are better than
// the current snapshot's, so that no user's position goes back because a snapshot
// is a second old. The next snapshot empties it, except for newer positions.
type told struct {
	n  atomic.Int32 // how many there are, for a look without the lock
	mu sync.RWMutex
	by map[int64]sight // by order
}

type sight struct {
	epoch uint64
	ahead int
	at    time.Time // on the store's clock
}

// maxTold bounds it: the visits of a second without a ticket.
const maxTold = 4096

func (t *told) remember(order int64, s sight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.by[order]; !known && len(t.by) >= maxTold {
		return
	}
	if t.by == nil {
		t.by = make(map[int64]sight)
	}
	t.by[order] = s
	t.n.Store(int32(len(t.by)))
}

// ahead is the number of orders before an order: by the snapshot, or fewer when the
// store has said so since.
func (t *told) ahead(order int64, bySnapshot int, s *snapshot) int {
	if t.n.Load() == 0 {
		return bySnapshot
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if seen, ok := t.by[order]; ok && seen.newer(s) {
		return min(bySnapshot, seen.ahead)
	}
	return bySnapshot
}

// forget drops the positions that a snapshot has as well.
func (t *told) forget(s *snapshot) {
	if t.n.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for order, seen := range t.by {
		if !seen.newer(s) {
			delete(t.by, order)
		}
	}
	t.n.Store(int32(len(t.by)))
}

func (s sight) newer(snap *snapshot) bool {
	return s.epoch == snap.state.Epoch && s.at.After(snap.state.Now)
}
