package upstream

import (
	"sync/atomic"
	"time"
)

// revisions has the current revision of each artist: how often it was revised by
// hand, plus the number of its periods of ReviseEvery. They start at 0 with the
// process.
type revisions struct {
	every time.Duration
	clock func() time.Duration
	start time.Duration
	hand  [Artists + 1]atomic.Uint64
}

func newRevisions(cfg Config) *revisions {
	return &revisions{every: cfg.ReviseEvery, clock: cfg.Clock, start: cfg.Clock()}
}

func (r *revisions) current(id int) artist {
	n := r.hand[id].Load()
	if r.every > 0 {
		// Each artist is somewhere in its period when the process starts, so
		// that they do not change all at once.
		phase := time.Duration(mix(uint64(id)) % uint64(r.every))
		n += uint64((r.clock() - r.start + phase) / r.every)
	}
	return artist{id: id, revision: n}
}

// revise changes an artist and returns its new state.
func (r *revisions) revise(id int) artist {
	r.hand[id].Add(1)
	return r.current(id)
}
