package memqueue

import (
	"sync"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// room is one event.
type room struct {
	mu sync.Mutex
	content
}

// content is the state of a room. Times are µs since 1970.
type content struct {
	servers int64 // as in queue.State
	epoch   uint64
	begun   int64
	lost    int64 // when a process last heard of the room before its data was lost; 0 when none has said so
	settled int64 // no user enters before
	cleared bool  // the epoch began by Clear
	top     int64 // the highest order so far
	used    orders

	line     line
	position map[string]int64 // the orders of the waiting users
	turns    turns
	inside   inside

	returners returners
	lanes     map[string]*lane
	shared    bool                         // by a lane or returners, since one of them came
	credit    [1 + driver.MaxLanes]float64 // of the returners, and of each lane
	kept      orders
	keptUntil int64 // no order is kept for longer

	threshold *int
	paused    bool
	challenge *bool // nil: no operator has set it
	settings  settings
	opening   opening
	gate      gate
	stock     stock

	tick     int64 // when it began
	admitted int   // turns that came in it
	rate     rate
	stays    stays

	swept  int64  // when the last sweep began
	told   uint64 // the version then
	idle   bool   // no user waited or was active then
	listed bool   // users may wait or be active

	joined, entered, noShows, expired, departed, removed, returned int64
}

// gate is the front gate. Base is the order of position zero.
type gate struct {
	known, on       bool
	base, positions int64
}

func newRoom(servers int64, epoch uint64, begun, now int64) *room {
	return &room{content: content{
		servers: servers, epoch: epoch, begun: begun, top: now,
		used: orders{},
		line: newLine(0), position: map[string]int64{}, turns: newTurns(), inside: newInside(),
		returners: newReturners(), lanes: map[string]*lane{}, kept: orders{},
	}}
}

// take marks an order, the only way to get one, and says whether it was free.
func (m *room) take(order int64) bool {
	free := m.used.add(order)
	m.top = max(m.top, order)
	return free
}

// expire takes out the users whose time is over, and ends turns, once, by the first
// call after it.
func (m *room) expire(now int64, r driver.Rules) {
	m.closeIfNew(r)
	for len(m.inside.ends) > 0 && m.inside.ends[0].end <= now {
		g := m.inside.ends[0]
		m.inside.remove(g)
		m.expired++
		m.stays.leave(g.began, g.end, r, m.limit(r))
	}
	m.lapse(now, r)
	m.inside.lapse(now)
	if len(m.kept) > 0 && now > m.keptUntil {
		clear(m.kept)
	}
}

// limit is the greatest number of active users.
func (m *room) limit(r driver.Rules) int {
	if m.threshold != nil {
		return *m.threshold
	}
	return r.Threshold
}

// open is the number of places that are free now.
func (m *room) open(now int64, r driver.Rules) int {
	if m.paused || now < m.settled || m.early(now) {
		return 0
	}
	return max(0, m.inStock(m.limit(r)-len(m.inside.users), r))
}

func (m *room) state(now int64, r driver.Rules) driver.State {
	s := driver.State{
		Epoch: m.epoch, Now: time.UnixMicro(now),
		Threshold: m.limit(r), Paused: m.paused, Gated: m.gate.on,
		Closed: m.settings.version < 0, Settings: max(0, m.settings.version),
		Settling: span(max(0, m.settled-now)),
		Waiting:  m.line.waiting + len(m.turns.users) + len(m.returners.ordered), Entitled: m.turns.ahead(), Silent: below(m.turns.silent, behind),
		Laned: len(m.turns.laned), Returning: len(m.returners.ordered) + m.turns.returning,
		Active: len(m.inside.users), Rate: m.rate.over(now),
		Joined: m.joined, Entered: m.entered, NoShows: m.noShows, Expired: m.expired, Departed: m.departed, Swept: m.removed, Returned: m.returned, Servers: m.servers,
		Stays: m.stays.now(now, r), Phase: m.opening.phase, Challenge: m.challenge,
	}
	for i, lane := range r.Lanes {
		s.Lanes[i] = driver.Lane{Name: lane.Name, Share: m.shareOf(lane)}
	}
	if m.stock.at > 0 {
		s.Stock = m.knownStock()
	}
	if m.early(now) {
		s.Opens = time.UnixMicro(m.opening.at)
	}
	return s
}

func span(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
