package memqueue

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Save writes all rooms; see [driver.MemoryStore].
func (s *store) Save(w io.Writer) error {
	s.mu.RLock()
	servers, epoch, begun, rooms, figures := s.servers, s.epoch, s.begun, maps.Clone(s.rooms), s.copiedFigures()
	s.mu.RUnlock()
	c := &coder{to: w}
	c.begin()
	c.store(&servers, &epoch, &begun)
	n := int64(len(rooms))
	c.count(&n)
	for _, event := range slices.Sorted(maps.Keys(rooms)) {
		m := rooms[event]
		m.mu.Lock()
		c.at = s.clock()
		saved := m.copied()
		m.mu.Unlock()
		c.num(&c.at)
		c.name(&event, maxOrder)
		c.room(saved)
	}
	c.figures(figures)
	c.end()
	if c.err != nil {
		return fmt.Errorf("memqueue: save: %w", c.err)
	}
	return nil
}

// copied is what Save writes, for use without the room's lock.
func (m *room) copied() *content {
	c := m.content
	c.position = nil
	if c.settings.version == closed {
		c.paused = c.settings.paused
	}
	c.line.blocks, c.line.log = nil, nil
	c.line.ordered = slices.Clone(m.line.ordered)
	for i, e := range c.line.ordered {
		b, members := *e.block, *e.block.members
		b.members = &members
		c.line.ordered[i].block = &b
	}
	c.used, c.kept = m.used.copied(), m.kept.copied()
	c.returners = returners{users: make(map[string]*returner, len(m.returners.users)), ordered: slices.Clone(m.returners.ordered)}
	for user, one := range m.returners.users {
		r := *one
		c.returners.users[user] = &r
	}
	c.lanes = make(map[string]*lane, len(m.lanes))
	for name, l := range m.lanes {
		c.lanes[name] = &lane{ordered: m.members(l)}
	}
	c.inside = inside{ends: slices.Clone(m.inside.ends), over: slices.Clone(m.inside.over)} // a missed turn does not change
	for i, g := range c.inside.ends {
		one := *g
		c.inside.ends[i] = &one
	}
	c.turns = turns{due: slices.Clone(m.turns.due)}
	for i, t := range c.turns.due {
		one := *t
		c.turns.due[i] = &one
	}
	return &c
}
