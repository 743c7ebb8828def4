package crowd

import (
	"maps"
	"sync"
)

// alerts are the chat messages of all streams, each once. It is safe for concurrent
// use.
type alerts struct {
	mu    sync.Mutex
	rooms map[string]string // by message
}

func (a *alerts) add(id, room string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rooms == nil {
		a.rooms = map[string]string{}
	}
	a.rooms[id] = room
}

// Alerts returns the chat messages of all streams: their rooms by their ids. Call it
// after Run.
func (c *Crowd) Alerts() map[string]string {
	c.alerts.mu.Lock()
	defer c.alerts.mu.Unlock()
	return maps.Clone(c.alerts.rooms)
}
