package sse

import (
	"slices"
	"strings"
	"sync"

	"github.com/millrace-go/millrace/sse/driver"
)

// audience is the set of this process's streams, by member and by room.
type audience struct {
	mu         sync.RWMutex
	generation int // grows when all streams are ended
	closed     bool
	conns      map[string]*stream
	crowd      []*stream // all of conns
	members    map[string][]*stream
	rooms      map[string][]*stream
	empty      chan struct{} // closed when closed and no stream is left

	most, perAddress int
	addresses        map[string]int // how many of conns have one
}

// Streams that came together get events together: they lie in slices in their order,
// since neighbours in time are neighbours in memory, and a map visits them at
// random. Each stream knows its places, so that its removal needs no search.

// seat is the place of a stream in a room.
type seat struct {
	room string
	at   int
}

func newAudience(most, perAddress int) *audience {
	return &audience{
		conns:   map[string]*stream{},
		members: map[string][]*stream{},
		rooms:   map[string][]*stream{},
		empty:   make(chan struct{}),
		most:    most, perAddress: perAddress, addresses: map[string]int{},
	}
}

// add adds a stream, if it belongs to the generation and there is room.
func (a *audience) add(s *stream, rooms []string, generation int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed || a.generation != generation:
		return ErrUnavailable // the lease or the hub has just ended
	case len(a.conns) >= a.most || a.addresses[s.address] >= a.perAddress:
		return errCrowded
	}
	a.conns[s.conn.ID] = s
	if s.address != "" {
		a.addresses[s.address]++
	}
	s.at, a.crowd = len(a.crowd), append(a.crowd, s)
	a.members[s.conn.Member] = append(a.members[s.conn.Member], s)
	for _, room := range rooms {
		a.enter(s, strings.Clone(room)) // a part of the request, as the member is
	}
	return nil
}

// enter seats a stream in a room, once.
func (a *audience) enter(s *stream, room string) {
	if seated(s, room) < 0 {
		s.seats = append(s.seats, seat{room, len(a.rooms[room])})
		a.rooms[room] = append(a.rooms[room], s)
	}
}

// exit gives the seat of a stream to the last stream of the room.
func (a *audience) exit(s *stream, room string) {
	i := seated(s, room)
	if i < 0 {
		return
	}
	in, at := a.rooms[room], s.seats[i].at
	last := in[len(in)-1]
	last.seats[seated(last, room)].at = at
	in[at], in[len(in)-1] = last, nil
	if in = in[:len(in)-1]; len(in) == 0 {
		delete(a.rooms, room)
	} else {
		a.rooms[room] = in
	}
	s.seats = slices.Delete(s.seats, i, i+1)
}

// seated is the index of the stream's seat in a room; -1 when there is none.
func seated(s *stream, room string) int {
	return slices.IndexFunc(s.seats, func(t seat) bool { return t.room == room })
}

// remove removes a stream, and says whether it was there.
func (a *audience) remove(s *stream, count func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conns[s.conn.ID] != s {
		return
	}
	count()
	delete(a.conns, s.conn.ID)
	if a.addresses[s.address]--; a.addresses[s.address] <= 0 {
		delete(a.addresses, s.address)
	}
	last := a.crowd[len(a.crowd)-1]
	a.crowd[s.at], last.at, a.crowd[len(a.crowd)-1] = last, s.at, nil
	a.crowd = a.crowd[:len(a.crowd)-1]
	member := s.conn.Member
	if of := a.members[member]; len(of) == 1 {
		delete(a.members, member)
	} else {
		i := slices.Index(of, s)
		a.members[member] = slices.Delete(of, i, i+1)
	}
	for len(s.seats) > 0 {
		a.exit(s, s.seats[len(s.seats)-1].room)
	}
	if a.closed && len(a.conns) == 0 {
		close(a.empty)
	}
}

// join adds a member's streams to a room, leave removes them.
func (a *audience) join(member, room string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.members[member] {
		a.enter(s, room)
	}
}

func (a *audience) leave(member, room string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.members[member] {
		a.exit(s, room)
	}
}

func (a *audience) connection(id string) *stream {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.conns[id]
}

// each calls do for the streams that a message is for. do does not wait and takes
// no lock of the audience.
func (a *audience) each(kind driver.Kind, to string, do func(*stream)) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	switch kind {
	case driver.ToMember:
		for _, s := range a.members[to] {
			do(s)
		}
	case driver.ToRoom:
		for _, s := range a.rooms[to] {
			do(s)
		}
	case driver.ToAll:
		for _, s := range a.crowd {
			do(s)
		}
	}
}

func (a *audience) all() []*stream {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return slices.Clone(a.crowd)
}

func (a *audience) size() (streams, members, rooms int) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return len(a.conns), len(a.members), len(a.rooms)
}

// turn begins another generation, and returns the streams of the last one.
func (a *audience) turn() (int, []*stream) {
	a.mu.Lock()
	a.generation++
	generation := a.generation
	a.mu.Unlock()
	return generation, a.all()
}

// close refuses new streams from now on.
func (a *audience) close() []*stream {
	a.mu.Lock()
	a.closed = true
	if len(a.conns) == 0 {
		close(a.empty)
	}
	a.mu.Unlock()
	return a.all()
}
