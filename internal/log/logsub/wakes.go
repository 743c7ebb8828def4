package logsub

import (
	"sync"

	"github.com/millrace-go/millrace/internal/pulse"
)

// wakes has the signals of one process: a pulse per lane for new entries, so that a message only
// wakes the readers of its own lane, and one for changes in the groups.
type wakes struct {
	groups *pulse.Pulse

	mu    *sync.Mutex
	lanes map[int]*pulse.Pulse
}

func newWakes() wakes {
	return wakes{groups: pulse.New(), mu: new(sync.Mutex), lanes: make(map[int]*pulse.Pulse)}
}

// lane returns the pulse of a lane.
func (w wakes) lane(n int) *pulse.Pulse {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.lanes[n]
	if !ok {
		p = pulse.New()
		w.lanes[n] = p
	}
	return p
}

// data wakes the readers of the lanes, or of all.
func (w wakes) data(lanes ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(lanes) == 0 {
		for _, p := range w.lanes {
			p.Wake()
		}
		return
	}
	for _, n := range lanes {
		// A lane without a pulse has no reader in this process.
		if p, ok := w.lanes[n]; ok {
			p.Wake()
		}
	}
}
