package sse

import (
	"slices"
	"sync"
)

// audience is who is connected to this process, by member and by room.
type audience struct {
	mu         sync.RWMutex
	generation int // grows when all streams are ended
	closed     bool
	conns      map[string]*stream
	members    map[string][]*stream
	rooms      map[string]map[*stream]struct{}
	empty      chan struct{} // closed when closed and nobody is left
}

func newAudience() *audience {
	return &audience{
		conns:   map[string]*stream{},
		members: map[string][]*stream{},
		rooms:   map[string]map[*stream]struct{}{},
		empty:   make(chan struct{}),
	}
}

// add takes a stream in, if it belongs to the generation.
func (a *audience) add(s *stream, generation int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.generation != generation {
		return false
	}
	a.conns[s.conn.ID] = s
	a.members[s.conn.Member] = append(a.members[s.conn.Member], s)
	for _, room := range s.rooms {
		a.enter(s, room)
	}
	return true
}

func (a *audience) enter(s *stream, room string) {
	if a.rooms[room] == nil {
		a.rooms[room] = map[*stream]struct{}{}
	}
	a.rooms[room][s] = struct{}{}
}

func (a *audience) exit(s *stream, room string) {
	delete(a.rooms[room], s)
	if len(a.rooms[room]) == 0 {
		delete(a.rooms, room)
	}
}

// remove lets a stream go, and says whether it was there.
func (a *audience) remove(s *stream) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conns[s.conn.ID] != s {
		return false
	}
	delete(a.conns, s.conn.ID)
	member := s.conn.Member
	if of := a.members[member]; len(of) == 1 {
		delete(a.members, member)
	} else {
		i := slices.Index(of, s)
		a.members[member] = slices.Delete(of, i, i+1)
	}
	for _, room := range s.rooms {
		a.exit(s, room)
	}
	if a.closed && len(a.conns) == 0 {
		close(a.empty)
	}
	return true
}

// join adds a member's streams to a room, leave takes them out.
func (a *audience) join(member, room string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.members[member] {
		if !slices.Contains(s.rooms, room) {
			s.rooms = append(s.rooms, room)
			a.enter(s, room)
		}
	}
}

func (a *audience) leave(member, room string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.members[member] {
		if i := slices.Index(s.rooms, room); i >= 0 {
			s.rooms = slices.Delete(s.rooms, i, i+1)
			a.exit(s, room)
		}
	}
}

func (a *audience) connection(id string) *stream {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.conns[id]
}

// each calls do for those a message is for. do does not wait and takes no lock of
// the audience.
func (a *audience) each(kind Kind, to string, do func(*stream)) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	switch kind {
	case ToMember:
		for _, s := range a.members[to] {
			do(s)
		}
	case ToRoom:
		for s := range a.rooms[to] {
			do(s)
		}
	case ToAll:
		for _, s := range a.conns {
			do(s)
		}
	}
}

func (a *audience) all() []*stream {
	a.mu.RLock()
	defer a.mu.RUnlock()
	all := make([]*stream, 0, len(a.conns))
	for _, s := range a.conns {
		all = append(all, s)
	}
	return all
}

func (a *audience) size() (streams, members, rooms int) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return len(a.conns), len(a.members), len(a.rooms)
}

// turn begins another generation, and returns the streams of the last.
func (a *audience) turn() (int, []*stream) {
	a.mu.Lock()
	a.generation++
	generation := a.generation
	a.mu.Unlock()
	return generation, a.all()
}

// close takes nobody in from now on.
func (a *audience) close() []*stream {
	a.mu.Lock()
	a.closed = true
	if len(a.conns) == 0 {
		close(a.empty)
	}
	a.mu.Unlock()
	return a.all()
}
