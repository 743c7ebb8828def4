package memqueue

import (
	"bufio"
	"fmt"
	"io"

	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/internal/roomcalls"
)

// leap is how much higher the orders go on after a restart: those of the arrivals
// that were not saved are in between, and their tickets count.
const leap = 1 << 20

// Restore takes over the rooms of Save; see [driver.MemoryStore].
func (s *store) Restore(r io.Reader) error {
	if err := s.restore(r); err != nil {
		return fmt.Errorf("memqueue: restore: %w", err)
	}
	return nil
}

func (s *store) restore(r io.Reader) error {
	now := s.clock()
	c := &coder{from: bufio.NewReader(r), at: now}
	var (
		servers, begun, n int64
		epoch             uint64
	)
	c.begin()
	c.store(&servers, &epoch, &begun)
	c.count(&n)
	servers++
	rooms := map[string]*room{}
	for ; n > 0 && c.err == nil; n-- {
		var (
			saved int64
			event string
		)
		c.num(&saved)
		c.name(&event, maxOrder)
		m := newRoom(servers, 0, 0, 0)
		c.room(&m.content)
		m.resume(saved, now)
		rooms[event] = m
	}
	figures := map[string]map[int64]driver.Sample{}
	if c.format > plain {
		c.figures(figures)
	}
	c.end()
	if c.err != nil {
		return c.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rooms) > 0 {
		return roomcalls.Bad("the store has rooms already: restore before its first use")
	}
	s.servers, s.epoch, s.begun, s.rooms = servers, epoch, min(begun, now), rooms
	s.figures = figures
	return nil
}

// resume makes a room that was saved one of the present.
func (m *room) resume(saved, now int64) {
	// After a step back of the clock the epoch is not younger than it was.
	m.begun = min(now, m.begun+min(0, now-saved))
	if m.top < maxOrder-leap {
		m.top += leap
	}
	if now-saved > driver.Lapse.Microseconds() {
		m.clear(now, newEpoch())
	}
}
