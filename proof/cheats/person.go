package cheats

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// kind of a person, by what the person does with the line.
type kind int

const (
	honest   kind = iota // polls as told
	silent               // joins, and is never heard of again
	hoarder              // polls as told, and never gives the place inside back
	repeater             // polls at all instances, more often than told
	sharer               // brings the ticket of another person
	rejoiner             // leaves after a while and lines up under another name
	keeper               // leaves, and brings the kept ticket again later
	kinds
)

// span of time since the start; to is 0 while it lasts.
type span struct{ from, to time.Duration }

// stay inside, as the answers tell.
type stay struct {
	span
	arrival span          // the call that lined the person up, from the first try to the answer
	since   time.Duration // when an answer told that the stay before was lost
	lost    bool          // it began in a second that the store has lost
}

// person of the crowd. One goroutine acts for the person and keeps the log.
type person struct {
	kind     kind
	name     string
	chance   *rand.Rand
	instance int
	comes    time.Duration
	ticket   atomic.Pointer[string] // sharers read those of others

	arrival  span
	rank     int // the number of people who had come
	inside   bool
	until    time.Duration // when the place is over, as the last answer told
	left     time.Duration // when a keeper left
	replayed bool
	since    time.Duration

	stays   []stay
	told    []told
	late    []time.Duration // how late the last polls were answered
	none    int             // answers that the person is in no line, or out too early
	behind  int             // positions above the number of people who had come
	refused int             // calls without an answer
}

func (p *person) brings() string {
	if t := p.ticket.Load(); t != nil {
		return *t
	}
	return ""
}

// polled notes how late an answer was, of the last five.
func (p *person) polled(late time.Duration) {
	if p.late = append(p.late, late); len(p.late) > 5 {
		p.late = p.late[1:]
	}
}

// crowd draws all people: half of them come at once, the others during most of the run.
func crowd(cfg Config) []*person {
	chance := rand.New(rand.NewPCG(cfg.Seed, 23))
	people := make([]*person, cfg.People)
	for i := range people {
		p := &person{name: name(i), chance: rand.New(rand.NewPCG(cfg.Seed, uint64(i))), instance: chance.IntN(instances)}
		if chance.IntN(2) == 0 {
			p.kind = 1 + kind(chance.IntN(int(kinds)-1))
		}
		if within := cfg.For / 60; i < cfg.People/2 {
			p.comes = time.Duration(float64(within) * float64(i) / float64(cfg.People/2))
		} else {
			p.comes = within + time.Duration(chance.Float64()*0.6*float64(cfg.For))
		}
		people[i] = p
	}
	return people
}
