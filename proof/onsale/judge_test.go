package onsale

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
)

const second = time.Second

// fine is an on-sale of four people for one place: the first was inside, the
// second is, the third waits, and the fourth has crashed in line.
func fine() evidence {
	return evidence{
		cfg: Config{Threshold: 1, NoShow: 20 * second},
		people: []person{
			{stage: done, first: span{1 * second, 2 * second}, stay: span{2 * second, 9 * second}},
			{stage: inside, first: span{3 * second, 4 * second}, stay: span{10 * second, 0}},
			{stage: waiting, first: span{5 * second, 6 * second}},
			{stage: crashed, first: span{7 * second, 8 * second}},
		},
		last:  []standing{{queue.None, 0}, {queue.Active, 102}, {queue.Waiting, 103}, {queue.Waiting, 104}},
		state: queue.State{Waiting: 2},
		entries: []admission{
			{person: 0, order: 101, began: 2 * second, heard: 2 * second},
			{person: 1, order: 102, began: 9 * second, heard: 9 * second},
		},
		places: []admission{
			{person: 0, order: 101, began: 2 * second, heard: 2 * second},
			{person: 1, order: 102, began: 9 * second, heard: 9 * second},
		},
		answers: 10, over: 0, orders: []int64{-1, 102, 103, 104},
	}
}

func TestFine(t *testing.T) { judgeFine(t, fine()) }

// Each fault is found, and nothing else is.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken []string // parts of the findings
		do     func(e *evidence)
	}{
		{"the store says so", []string{"by each answer"}, func(e *evidence) { e.over = 1 }},
		{"two know that they are inside", []string{"by what they were told", "by who took one"}, func(e *evidence) {
			e.people[1].stay.from = 8 * second
			e.places[1].began, e.places[1].heard = 8*second, 8*second
		}},
		{"a place is given that is taken", []string{"by who took one"}, func(e *evidence) {
			e.places[1].began, e.places[1].heard = 8*second, 8*second
		}},
		{"the third before the second", []string{"order of arrival", "lost"}, func(e *evidence) {
			e.entries[1].person = 2
			e.people[1], e.last[1] = e.people[2], standing{}
			e.people[1].first = span{3 * second, 4 * second}
			e.people[2] = person{stage: inside, first: span{5 * second, 6 * second}, stay: span{10 * second, 0}}
			e.last[2] = standing{queue.Active, 103}
			e.state.Waiting = 1
		}},
		{"twice", []string{"twice"}, func(e *evidence) {
			e.people[1].stay.to = 11 * second
			e.people[1].stage, e.last[1] = done, standing{}
			e.entries = append(e.entries, admission{person: 1, order: 105, began: 12 * second, heard: 12 * second})
		}},
		{"lost in line", []string{"lost", "length"}, func(e *evidence) { e.last[2] = standing{} }},
		{"lost inside", []string{"lost"}, func(e *evidence) { e.last[1] = standing{} }},
		{"has left and is there", []string{"still there"}, func(e *evidence) { e.last[0] = standing{queue.Active, 101} }},
		{"another place", []string{"changed"}, func(e *evidence) { e.last[2].order = 109 }},
		{"another place meanwhile", []string{"changed"}, func(e *evidence) { e.moved = 1 }},
		{"forgotten meanwhile", []string{"changed"}, func(e *evidence) { e.forgotten = 1 }},
		{"a wrong length", []string{"length"}, func(e *evidence) { e.state.Waiting = 3 }},
		{"let in by nobody", []string{"without an admission"}, func(e *evidence) { e.entries = e.entries[:1] }},
		{"no token", []string{"token"}, func(e *evidence) { e.unsealed = 1 }},
	} {
		e := fine()
		c.do(&e)
		var broken []string
		for _, f := range findings(e) {
			if !f.OK {
				broken = append(broken, f.Name)
			}
		}
		if len(broken) != len(c.broken) || !slices.EqualFunc(broken, c.broken, strings.Contains) {
			t.Errorf("%s: found are %q, want %q", c.name, broken, c.broken)
		}
	}
}

// A no-show's place is given up and may be another person's; the no-show may come
// back and be admitted again.
func TestNoShows(t *testing.T) {
	e := fine()
	e.entries[1] = admission{person: 3, order: 104, began: 9 * second, heard: 9 * second}
	e.entries = append(e.entries, admission{person: 1, order: 102, began: 29 * second, heard: 29 * second})
	e.people[1].stay.from = 30 * second
	e.people[3].first = span{2 * second, 3 * second}
	e.last[3], e.state.Waiting = standing{}, 1
	judgeFine(t, e)

	// The second is a no-show and comes back, and is admitted again.
	e.entries = append(e.entries, admission{person: 1, order: 102, began: 49 * second, heard: 49 * second})
	e.people[1].stay.from = 50 * second
	judgeFine(t, e)
}

// A lost answer is not held against the store.
func TestUnanswered(t *testing.T) {
	e := fine()
	e.entries, e.unanswered = e.entries[:1], 1
	judgeFine(t, e)
}

// A lost answer excuses the people of one call, and not all.
func TestUnansweredExcusesItsOwn(t *testing.T) {
	e := fine()
	e.cfg.Threshold, e.over, e.unanswered = 1000, 0, 1
	for range driver.MaxVisits + 1 {
		e.people = append(e.people, person{stage: inside, first: span{60 * second, 61 * second}, stay: span{62 * second, 0}})
		e.last, e.orders = append(e.last, standing{queue.Active, 105}), append(e.orders, -1)
	}
	for _, f := range findings(e) {
		if f.OK == (f.Name == "inside without an admission") {
			t.Errorf("%s: %v, %s", f.Name, f.OK, f.Detail)
		}
	}
}

// A room that lets no one in lets no one in too early.
func TestNothingProven(t *testing.T) {
	for name, change := range map[string]func(*evidence){
		"no answer": func(e *evidence) {
			*e = evidence{cfg: e.cfg, people: make([]person, 4), last: make([]standing, 4), orders: make([]int64, 4), over: -1 << 30}
		},
		"no one is let in": func(e *evidence) {
			e.people[0].stage, e.people[1].stage, e.people[0].stay, e.people[1].stay = crashed, crashed, span{}, span{}
			e.places, e.entries, e.last[1], e.over = nil, nil, standing{}, -1
		},
		"a place is left": func(e *evidence) { e.over = -1 },
		"no pair":         func(e *evidence) { e.people[0].first.to, e.people[1].first.to = 0, 0 },
	} {
		e := fine()
		change(&e)
		if err := judge.Verdict(findings(e)); !errors.Is(err, judge.ErrNoProof) {
			t.Errorf("%s: %v, %+v", name, err, findings(e))
		}
	}
}

func judgeFine(t *testing.T, e evidence) {
	t.Helper()
	for _, f := range findings(e) {
		assert.Truef(t, f.OK, "%s: %s", f.Name, f.Detail)
	}
}

// A leaver may have been admitted from the line a moment before.
func TestLeftUnawares(t *testing.T) {
	e := fine()
	e.people[1] = person{stage: left, first: span{3 * second, 4 * second}, stay: span{to: 10 * second}}
	e.last[1] = standing{}
	e.entries = append(e.entries, admission{person: 2, order: 103, began: 11 * second, heard: 11 * second})
	judgeFine(t, e)
}
