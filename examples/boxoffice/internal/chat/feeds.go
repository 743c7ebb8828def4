package chat

import (
	"maps"
	"slices"
	"sync"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
)

// page is how many messages are read at once.
const page = 100

// feeds are the rooms with open sockets. Each is read once for all its sockets.
type feeds struct {
	limit, perAddress int
	wake              signal.Signal // a feed is to be looked at

	mu    sync.Mutex
	takes bool          // whether sockets are taken
	ended bool          // for good
	empty chan struct{} // closed when ended and without sockets, once
	all   map[*socket]struct{}
	rooms map[string]*feed
	rung  map[string]struct{}

	emptied sync.Once
	// addresses is how many of all have one.
	addresses map[string]int
}

// feed is a room. Its sockets have been sent all messages up to at.
type feed struct {
	room    string
	at      int64
	sockets map[*socket]struct{}
}

func newFeeds(limit, perAddress int) *feeds {
	return &feeds{
		limit: limit, perAddress: perAddress, addresses: map[string]int{}, wake: signal.New(), empty: make(chan struct{}),
		all: map[*socket]struct{}{}, rooms: map[string]*feed{}, rung: map[string]struct{}{},
	}
}

// open counts the open sockets, and the rooms that have some.
func (f *feeds) open() (sockets, rooms int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.all), len(f.rooms)
}

// begin accepts sockets from now on.
func (f *feeds) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.takes = true
}

// end closes all sockets and accepts no more.
func (f *feeds) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.takes, f.ended = false, true
	for s := range f.all {
		s.cut(leaving)
	}
	f.settle()
}

func (f *feeds) settle() {
	if f.ended && len(f.all) == 0 {
		f.emptied.Do(func() { close(f.empty) })
	}
}

// enter accepts a socket, which is not in its room yet.
func (f *feeds) enter(s *socket) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.takes || len(f.all) >= f.limit || f.addresses[s.address] >= f.perAddress {
		return false
	}
	f.all[s] = struct{}{}
	if s.address != "" {
		f.addresses[s.address]++
	}
	return true
}

// follow adds a socket that has all messages up to seq to the feed of its room. It
// reports false if the feed is beyond seq: then there is more to be read.
func (f *feeds) follow(s *socket, seq int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	room, ok := f.rooms[s.room]
	if !ok {
		room = &feed{room: s.room, at: seq, sockets: map[*socket]struct{}{}}
		f.rooms[s.room] = room
	}
	if seq < room.at {
		return false
	}
	s.at = seq
	room.sockets[s] = struct{}{}
	f.rung[s.room] = struct{}{} // messages stored since it was read
	f.wake.Wake()
	return true
}

// leave removes a closed socket.
func (f *feeds) leave(s *socket) {
	f.unfollow(s)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, s)
	if f.addresses[s.address]--; f.addresses[s.address] <= 0 {
		delete(f.addresses, s.address)
	}
	f.settle()
}

// unfollow removes a socket from its feed.
func (f *feeds) unfollow(s *socket) {
	f.mu.Lock()
	defer f.mu.Unlock()
	room, ok := f.rooms[s.room]
	if !ok {
		return
	}
	delete(room.sockets, s)
	if len(room.sockets) == 0 {
		delete(f.rooms, s.room)
	}
}

// heard marks a room with new messages.
func (f *feeds) heard(room string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.rooms[room]; ok {
		f.rung[room] = struct{}{}
		f.wake.Wake()
	}
}

func (f *feeds) heardAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for room := range f.rooms {
		f.rung[room] = struct{}{}
	}
	f.wake.Wake()
}

// due are the feeds to look at. Only the looking goroutine moves their at.
func (f *feeds) due() []*feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	var due []*feed
	for _, room := range slices.Sorted(maps.Keys(f.rung)) {
		if feed, ok := f.rooms[room]; ok {
			due = append(due, feed)
		}
	}
	clear(f.rung)
	return due
}

// give sends messages that follow the feed's place to its sockets, and moves the
// place. It does not wait: a socket without room for them is cut. It returns the
// number of cut ones.
func (f *feeds) give(to *feed, messages []Message) (cut int) {
	frames := make([]frame, len(messages))
	for i, m := range messages {
		frames[i] = frameOf(m)
		frames[i].at = m.SentAt
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range to.sockets {
		if !s.give(frames) {
			s.cut(slow)
			delete(to.sockets, s)
			cut++
		}
	}
	if len(to.sockets) == 0 && f.rooms[to.room] == to {
		delete(f.rooms, to.room)
	}
	to.at = messages[len(messages)-1].Seq
	return cut
}

func (f *feeds) placeOf(to *feed) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return to.at
}
