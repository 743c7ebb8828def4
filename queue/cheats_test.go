package queue_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace-go/millrace/queue"
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

// lineModel is a crowd of whom half cheat, at four instances.
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
	emptied  time.Time // when everything was lost
	lost     int       // admissions that losses have undone
}

func (m *lineModel) join() {
	h := &human{user: fmt.Sprint("u", len(m.crowd)), instance: m.chance.IntN(4)}
	if m.chance.IntN(2) == 0 {
		h.kind = 1 + m.chance.IntN(kinds-1)
	}
	m.crowd = append(m.crowd, h)
	m.anew(h)
	m.poll(h)
}

// anew has a person stand at the end, where the next poll puts the person.
func (m *lineModel) anew(h *human) {
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
			m.anew(h)
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
			m.anew(h)
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
			m.anew(h)
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
	if err := m.store.current().(*memqueue.Store).Save(&m.saved); err != nil {
		m.t.Fatal(err)
	}
	m.savedAt = time.Now()
	for _, h := range m.crowd {
		h.saved = h.position
	}
}

// lose has a replica take over that has nothing of what came since the last save, or
// nothing at all. Whoever was let in since is not inside.
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
		formed, m.emptied = 80*time.Second, now
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

// TestCheatsMoveNoHonestUser: half of a crowd cheats, the instances are killed one after
// the other, and the store loses its last second, or all. Judged by the answers that the
// clients got: each honest person enters once, and no person who came later enters before,
// apart from the polls; positions rise by those alone whom a loss has put back; and no more
// than the threshold are inside, apart from those whose admission was lost.
func TestCheatsMoveNoHonestUser(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { cheat(t, seed) }) })
	}
}

func cheat(t *testing.T, seed uint64) {
	const people, places, over = 600, 20, 10 * time.Minute
	store := newSpy(t)
	m := &lineModel{t: t, chance: rand.New(rand.NewPCG(seed, 11)), store: store, places: places}
	instance := func() *queue.Room {
		return open(t, store, queue.Config{Threshold: places, Active: time.Minute, Random: m.chance.Float64})
	}
	m.rooms = []*queue.Room{instance(), instance(), instance(), instance()}
	stop := run(t, m.rooms[0], queue.AdmitterConfig{})
	defer func() { stop() }()
	began := time.Now()
	for step := 0; time.Since(began) < over; step++ {
		crowd := 10 // at first, and then one after the other
		if step > 30 {
			crowd = 1
		}
		for range min(crowd, people-len(m.crowd)) {
			m.join()
		}
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		if step%40 == 39 { // an instance is killed, with all that it knows
			i := step / 40 % 4
			if i == 0 {
				stop()
			}
			if m.rooms[i] = instance(); i == 0 {
				stop = run(t, m.rooms[0], queue.AdmitterConfig{})
			}
		}
		switch {
		case step%100 == 71:
			m.save()
		case step%100 == 75:
			m.lose(false)
		case step == 1210 && seed%2 == 1:
			m.lose(true)
		}
		now := time.Now()
		for _, h := range m.crowd {
			m.act(h, now)
		}
	}
	m.judge(began)
}

// judge compares the entrances with the arrivals.
func (m *lineModel) judge(began time.Time) {
	// A poll is as late as an interval, the age of a snapshot and a step of the crowd.
	const late = 3500 * time.Millisecond
	due := slices.Clone(m.entered)
	turns := map[*human]int{}
	for _, e := range m.entered {
		turns[e.human]++
		if !e.since.IsZero() {
			turns[e.human]--
		}
	}
	honestIn := 0
	for _, h := range m.crowd {
		switch {
		case h.kind != honest:
		case turns[h] == 0: // still in line
			due = append(due, entrance{h, h.arrival, time.Now(), h.undone, false})
		case turns[h] > 1:
			m.t.Errorf("%s entered %d times", h.user, turns[h])
		default:
			honestIn++
		}
	}
	for _, e := range due {
		if e.kind != honest {
			continue
		}
		for _, o := range m.entered {
			// The first newcomer to a room that has lost everything finds it empty.
			if first := o.in.Equal(m.emptied); o.undone || first {
				continue
			}
			if o.arrival > e.arrival && o.in.After(e.since) && e.in.Sub(o.in) > late {
				m.t.Errorf("%s was inside at %v, and %s, who came later, at %v", e.user, e.in.Sub(began), o.user, o.in.Sub(began))
				break
			}
		}
	}
	if honestIn < len(m.crowd)/4 {
		m.t.Errorf("%d of the honest entered", honestIn)
	}
	m.t.Logf("%d entrances, %d honest people entered; losses undid %d admissions", len(m.entered), honestIn, m.lost)
}
