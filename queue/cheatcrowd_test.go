package queue_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
)

// Kinds of people in a line, by what they do with it.
const (
	honest   = iota // polls as told
	silent          // joins, and is never heard of again
	hoarder         // polls as told, and never gives the place inside back
	repeater        // polls at all instances, far more often than told
	sharer          // brings the ticket of another person
	rejoiner        // leaves after a while and lines up under another name
	keeper          // leaves, and brings the kept ticket again minutes later
	kinds
)

// human is one of a crowd, with what the answers have told.
type human struct {
	kind         int
	instance     int // that of the honest: the load balancer is sticky
	user, ticket string
	next         time.Time
	position     int // the last that was told
	saved        int // and the last before the store was saved
	came         time.Time
	unknown      time.Time // when the arrival was lost, until the store has heard of it
	arrival      int       // the rank among all arrivals
	in, left     time.Time
	until        time.Time // when the time inside is over, as the last answer told
	undone       time.Time // when a loss undid the admission, until the next answer
	replayed     bool
}

// entrance of a person who lined up once.
type entrance struct {
	*human
	arrival   int
	in, since time.Time // since the answer that the entrance before was lost
	undone    bool
}

// lineModel is a crowd, half of which cheats, at four instances.
type lineModel struct {
	t        *testing.T
	chance   *rand.Rand
	store    *spy
	rooms    []*queue.Room
	places   int
	crowd    []*human
	arrivals int
	entered  []entrance
	guests   []*human // people who are told that they are inside
	saved    bytes.Buffer
	savedAt  time.Time
	formed   time.Time // when all have polled after a loss
	lost     int       // admissions that losses have undone
}

func (m *lineModel) join() {
	h := &human{user: fmt.Sprint("u", len(m.crowd)), instance: m.chance.IntN(4)}
	if m.chance.IntN(2) == 0 {
		h.kind = 1 + m.chance.IntN(kinds-1)
	}
	m.crowd = append(m.crowd, h)
	m.atTheEnd(h)
	m.poll(h)
}

// atTheEnd puts a person at the end of the line, where the next poll puts the person.
func (m *lineModel) atTheEnd(h *human) {
	h.came, h.arrival, h.position, h.in = time.Now(), m.arrivals, 0, time.Time{}
	m.arrivals++
}

func (m *lineModel) poll(h *human) {
	ticket := h.ticket
	if h.kind == sharer {
		ticket = m.crowd[m.chance.IntN(len(m.crowd))].ticket
	}
	place, err := m.rooms[h.instance].Check(m.t.Context(), "show-1", queue.Visitor{User: h.user, Ticket: ticket})
	if err != nil {
		m.t.Fatal(err)
	}
	now := time.Now()
	if h.kind == honest && (place.Status == queue.None || h.position > 0 && place.Position > h.position) {
		m.t.Fatalf("%s was told position %d, and then %+v", h.user, h.position, place)
	}
	was := !h.in.IsZero()
	if now.After(h.unknown.Add(2 * time.Second)) { // before, the answer may come from a snapshot
		h.unknown = time.Time{}
	}
	switch {
	case place.Status == queue.Active && (!was || !h.undone.IsZero()):
		m.entered = append(m.entered, entrance{h, h.arrival, now, h.undone, false})
		h.in, h.undone, h.position = now, time.Time{}, 0
		if !was {
			m.guests = append(m.guests, h)
		}
	case place.Status != queue.Active && was && (h.kind == honest || !h.undone.IsZero() || !now.Before(h.until)):
		m.guests = slices.DeleteFunc(m.guests, func(g *human) bool { return g == h })
		switch {
		case !h.undone.IsZero():
			h.in, h.undone = time.Time{}, now
		case h.kind == honest:
			m.t.Fatalf("%s was inside, and then %+v", h.user, place)
		default: // the time inside is over
			m.atTheEnd(h)
		}
	}
	if now.After(m.formed) { // before, others may not have come back yet
		h.position = place.Position
	}
	h.ticket, h.next = place.Ticket, now.Add(place.NextPoll)
	if place.Status == queue.Active { // another instance may not know yet
		h.until = now.Add(place.Entry.Left)
	}
	if inside := m.inside(now); inside > m.places || place.Active > m.places {
		m.t.Fatalf("%d know that they are inside, and the room says %d", inside, place.Active)
	}
}

// inside is how many people know that they are inside, without those whose admission
// was lost.
func (m *lineModel) inside(now time.Time) (n int) {
	for _, h := range m.guests {
		if h.undone.IsZero() && now.Before(h.until) {
			n++
		}
	}
	return n
}

// act is what a person does when the moment has come.
func (m *lineModel) act(h *human, now time.Time) {
	const stay, kept = 20 * time.Second, 4 * time.Minute
	waits := h.left.IsZero() && h.in.IsZero()
	switch {
	case h.kind == keeper && !h.left.IsZero() && now.Sub(h.left) > kept && !h.replayed && h.ticket != "":
		h.left, h.replayed = time.Time{}, true
		if !h.unknown.IsZero() { // the ticket counts, once, and those behind have one more before them
			m.forms(now.Add(2 * time.Second))
			for _, o := range m.crowd {
				if o.position > 0 && o.arrival > h.arrival {
					o.position++
				}
			}
		} else {
			m.atTheEnd(h)
		}
		m.poll(h)
	case !h.left.IsZero():
	case !h.in.IsZero() && h.kind != hoarder && now.Sub(h.in) > stay:
		if err := m.rooms[m.chance.IntN(4)].Done(m.t.Context(), "show-1", h.user); err != nil {
			m.t.Fatal(err)
		}
		m.guests = slices.DeleteFunc(m.guests, func(g *human) bool { return g == h })
		h.left, h.ticket = now, ""
	case h.kind == silent, h.kind != repeater && now.Before(h.next):
	case waits && (h.kind == rejoiner || h.kind == keeper && !h.replayed) && m.chance.IntN(30) == 0:
		if err := m.rooms[m.chance.IntN(4)].Leave(m.t.Context(), "show-1", h.user); err != nil {
			m.t.Fatal(err)
		}
		if h.kind == keeper {
			h.left = now
		} else {
			h.user, h.ticket = h.user+"+", ""
			m.atTheEnd(h)
		}
	default:
		if h.kind == repeater {
			h.instance = m.chance.IntN(4)
		}
		m.poll(h)
	}
}

// forms says that positions may still rise until then.
func (m *lineModel) forms(until time.Time) {
	if until.After(m.formed) {
		m.formed = until
	}
}

func (m *lineModel) save() {
	m.saved.Reset()
	if err := m.store.current().(driver.MemoryStore).Save(&m.saved); err != nil {
		m.t.Fatal(err)
	}
	m.savedAt = time.Now()
	for _, h := range m.crowd {
		h.saved = h.position
	}
}

// lose has a replica take over without the changes since the last save, or without any
// data. Users that were admitted since the save are not inside.
func (m *lineModel) lose(all bool) {
	store, err := memqueue.New(memqueue.Config{})
	if err != nil {
		m.t.Fatal(err)
	}
	if !all {
		if err := store.Restore(&m.saved); err != nil {
			m.t.Fatal(err)
		}
	}
	m.store.mu.Lock()
	m.store.Store = store
	m.store.mu.Unlock()
	now := time.Now()
	formed := 10 * time.Second
	if all {
		formed = 80 * time.Second
	}
	m.forms(now.Add(formed))
	for i := range m.entered {
		e := &m.entered[i]
		e.undone = e.undone || e.left.IsZero() && (all || !e.in.Before(m.savedAt))
	}
	for _, h := range m.crowd {
		if h.position = h.saved; all {
			h.position = 0
		}
		if !all && !h.came.Before(m.savedAt) {
			h.unknown = now
		}
		if !h.in.IsZero() && h.left.IsZero() && (all || !h.in.Before(m.savedAt)) {
			h.undone = now
			m.lost++
		}
		if h.kind == keeper && !h.left.Before(m.savedAt) { // the place was not given up
			h.left = time.Time{}
		}
	}
}
