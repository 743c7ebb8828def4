package onsale

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
)

// record is a store that records the answers of the store behind it: the verdict is
// based on these, and not on the answers of a room. All instances share one.
type record struct {
	event  string                  // others, of the same Redis, are not recorded; empty for all
	number func(user string) int32 // of a person
	clock  func() time.Duration

	mu      sync.Mutex
	answers int
	lost    int           // calls that got none
	over    int           // the most by which the places taken exceeded the threshold
	last    queue.State   // the latest by the store's clock
	lets    [][]admission // of each call that gave turns, or let people in at once, as it listed them
	places  []admission   // of people that took a place
	orders  []int64       // by person: the arrival number, 0 for a person who never waited
	moved   int           // people whose arrival number has changed
}

// admission of a person: the turn, or the place that was taken.
type admission struct {
	person int32
	order  int64
	// The call that admitted the person, from its beginning until its answer: the
	// admission happened in between.
	began, heard time.Duration
}

func newRecord(people int, number func(string) int32, clock func() time.Duration) *record {
	return &record{number: number, clock: clock, orders: make([]int64, people), over: -1 << 30}
}

// recorded is one instance's store.
type recorded struct {
	driver.Store
	*record
}

// saw records the state in every answer.
func (r *record) saw(s queue.State) {
	r.answers++
	r.over = max(r.over, s.Active-s.Threshold)
	if !s.Now.Before(r.last.Now) {
		r.last = s
	}
}

// failed counts a call after which the store's state is unknown.
func (r *record) failed(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost++
	return err
}

// Visit implements [driver.Store].
func (r recorded) Visit(ctx context.Context, event string, rules driver.Rules, b driver.Beats, visits []driver.Visit) (driver.Visited, error) {
	began := r.clock()
	v, err := r.Store.Visit(ctx, event, rules, b, visits)
	if err != nil {
		return v, r.failed(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saw(v.State)
	var entered []admission
	for i, o := range v.Outcomes {
		who := r.number(visits[i].User)
		switch o.Status {
		case queue.Waiting:
			if was := r.orders[who]; was != 0 && was != o.Order {
				r.moved++
			}
			r.orders[who] = o.Order
		case queue.Active:
			if !o.Entered {
				continue
			}
			place := admission{person: who, order: o.Order, began: began, heard: r.clock()}
			r.places = append(r.places, place)
			// The turn of a person from the line came before, under the order of the line.
			if r.orders[who] == 0 {
				entered = append(entered, place)
				r.orders[who] = -1
			}
		}
	}
	r.enter(entered)
	return v, nil
}

// Look implements [driver.Store].
func (r recorded) Look(ctx context.Context, event string, rules driver.Rules, epoch, version uint64) (driver.View, error) {
	v, err := r.Store.Look(ctx, event, rules, epoch, version)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.saw(v.State)
	}
	return v, err
}

// Admit implements [driver.Store].
func (r recorded) Admit(ctx context.Context, event string, rules driver.Rules) (driver.Admission, error) {
	began := r.clock()
	a, err := r.Store.Admit(ctx, event, rules)
	if r.event != "" && event != r.event {
		return a, err
	}
	if err != nil {
		return a, r.failed(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saw(a.State)
	entered := make([]admission, len(a.Admitted))
	for i, who := range a.Admitted {
		entered[i] = admission{person: r.number(who.User), order: who.Order, began: began}
	}
	r.enter(entered)
	return a, nil
}

// Sweep implements [driver.Store].
func (r recorded) Sweep(ctx context.Context, event string, rules driver.Rules, from int64) (driver.Swept, error) {
	s, err := r.Store.Sweep(ctx, event, rules, from)
	if err == nil && (r.event == "" || event == r.event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.saw(s.State)
	}
	return s, err
}

// enter records the admissions of a call.
func (r *record) enter(entered []admission) {
	if len(entered) == 0 {
		return
	}
	for i := range entered {
		entered[i].heard = r.clock()
	}
	r.lets = append(r.lets, entered)
}

// inOrder returns the admissions as the store made them: call after call, and those
// of one as it listed them. Concurrent calls may have taken turns, since a store does
// large ones in parts; of their heads the earliest arrival is taken to be the next.
func (r *record) inOrder() []admission {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := slices.Clone(r.lets)
	slices.SortFunc(calls, func(a, b []admission) int { return cmp.Compare(a[0].began, b[0].began) })
	var all []admission
	for len(calls) > 0 {
		n, until := 1, calls[0][0].heard
		for n < len(calls) && calls[n][0].began <= until {
			until = max(until, calls[n][0].heard)
			n++
		}
		all = append(all, merged(calls[:n])...)
		calls = calls[n:]
	}
	return all
}

// merged are lists in one, the head with the lowest order first.
func merged(lists [][]admission) (all []admission) {
	rest := slices.Clone(lists)
	for len(rest) > 0 {
		next := 0
		for i := range rest {
			if rest[i][0].order < rest[next][0].order {
				next = i
			}
		}
		all = append(all, rest[next][0])
		if rest[next] = rest[next][1:]; len(rest[next]) == 0 {
			rest = slices.Delete(rest, next, next+1)
		}
	}
	return all
}
