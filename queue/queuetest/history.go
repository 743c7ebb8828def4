package queuetest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

// history records the calls of all users, with their begin and end by a clock of
// its own.
type history struct {
	clock atomic.Int64

	mu       sync.Mutex
	arrived  []given
	admitted []given
	entered  map[string]int64 // by which order
	left     map[string]bool
}

// given is an order that a call gave out.
type given struct {
	begin, end, order int64
	user              string
}

// concurrentInstances come, leave, admit, sweep, look and change the threshold
// concurrently. No user is lost or in twice, arrivals that did not overlap keep
// their order, and no user enters a full room.
func concurrentInstances(p *player) {
	p.r = limited(20)
	past := &history{entered: map[string]int64{}, left: map[string]bool{}}
	everybody := names("shared", 150)
	shared := everybody[:150:150]
	for i := range instances {
		everybody = append(everybody, names(fmt.Sprintf("own%d-", i), 300)...)
	}
	together(p, func(i int, p *player) {
		r := random(uint64(10 + i))
		own := everybody[150+300*i:][:300]
		for n := range 30 {
			past.come(p, own[10*n:10*n+10], shared[5*n:5*n+5])
			past.leave(p, own[10*n+r.IntN(10)])
			switch r.IntN(6) {
			case 0, 1, 2:
				past.admit(p)
			case 3:
				p.change(driver.Change{Threshold: new(r.IntN(400))})
			case 4:
				p.sweep()
			case 5:
				new(snapshot).refresh(p)
			}
		}
	})
	p.threshold(10_000)
	past.admit(p)
	past.take(p)
	past.whole(p, everybody)
	past.arrivals()
	inOrder("admissions", past.admitted)
}

// come checks in the users of this instance, once, and others that come to every
// instance.
func (past *history) come(p *player, own, shared []string) {
	users := slices.Concat(own, shared)
	begin := past.clock.Add(1)
	got := p.visit(checks(users...)...)
	end := past.clock.Add(1)
	past.mu.Lock()
	defer past.mu.Unlock()
	last := int64(0)
	for i, o := range got.Outcomes {
		switch o.Status {
		case driver.Active:
			if i < len(own) && got.Active > got.Threshold {
				steps.Fail("%s enters a room that then is %+v", users[i], got.State)
			}
			past.enter(users[i], o.Order)
		case driver.Waiting:
		default:
			steps.Fail("%s checks, and is answered %+v", users[i], o)
		}
		if o.New && (i < len(own) || o.Status == driver.Waiting) { // the others may be seen inside for the first time
			past.arrived = append(past.arrived, given{begin, end, o.Order, users[i]})
		}
		if i < len(own) {
			if !o.New || o.Order <= last {
				steps.Fail("%s comes for the first time after order %d, and is answered %+v", users[i], last, o)
			}
			last = o.Order
		}
	}
}

// enter records the order by which a user is inside.
func (past *history) enter(user string, order int64) {
	if before, ok := past.entered[user]; ok && before != order {
		steps.Fail("%s is inside by order %d and by order %d", user, before, order)
	}
	past.entered[user] = order
}

func (past *history) leave(p *player, user string) {
	p.answers(driver.Visit{Kind: driver.Leave, User: user}, driver.Outcome{New: true})
	past.mu.Lock()
	defer past.mu.Unlock()
	past.left[user] = true
}

func (past *history) admit(p *player) {
	for more := true; more; {
		begin := past.clock.Add(1)
		a, err := p.store.Admit(p.ctx, p.event, p.r)
		end := past.clock.Add(1)
		steps.Do(err)
		if len(a.Admitted) > 0 && a.Active+a.Entitled > a.Threshold {
			steps.Fail("%d turns come in a room that then is %+v", len(a.Admitted), a.State)
		}
		past.admission(a, begin, end)
		more = a.More
	}
}

// take has the users poll whose turn has come, and who did not leave.
func (past *history) take(p *player) {
	for _, one := range past.admitted {
		if past.left[one.user] {
			continue
		}
		o := p.stands("when there are places for all", one.user, driver.Active)
		if o.Order != one.order {
			steps.Fail("the turn of %s came by order %d, and a poll is answered %+v", one.user, one.order, o)
		}
	}
}

func (past *history) admission(a driver.Admission, begin, end int64) {
	past.mu.Lock()
	defer past.mu.Unlock()
	last := int64(0)
	for _, one := range a.Admitted {
		if one.Order <= last {
			steps.Fail("%s is admitted by order %d after order %d", one.User, one.Order, last)
		}
		last = one.Order
		past.enter(one.User, one.Order)
		past.admitted = append(past.admitted, given{begin, end, one.Order, one.User})
	}
}

// whole expects that the room holds the users who came and did not leave.
func (past *history) whole(p *player, everybody []string) {
	past.everybody(everybody)
	inside := 0
	for _, user := range everybody {
		if !past.left[user] {
			inside++
		}
	}
	if s := p.state(); s.Waiting != 0 || s.Active != inside {
		steps.Fail("%d are to be inside when all have entered, and the room is %+v", inside, s)
	}
}

// everybody expects that each user who came entered, or left before that, and that
// each order admitted one user.
func (past *history) everybody(all []string) {
	for _, user := range all {
		if _, entered := past.entered[user]; !entered && !past.left[user] {
			steps.Fail("%s came, never left, and never entered", user)
		}
	}
	orders := map[int64]string{}
	for _, one := range past.admitted {
		if other, ok := orders[one.order]; ok {
			steps.Fail("%s and %s are admitted by order %d", other, one.user, one.order)
		}
		orders[one.order] = one.user
	}
}

// arrivals expects those that did not overlap to have ascending orders.
func (past *history) arrivals() {
	users, orders := map[string]bool{}, map[int64]bool{}
	for _, one := range past.arrived {
		if users[one.user] || orders[one.order] {
			steps.Fail("%s has order %d, and the user or the order was there before", one.user, one.order)
		}
		users[one.user], orders[one.order] = true, true
	}
	inOrder("arrivals", past.arrived)
}

// inOrder expects that an action that ended before another began has the lower
// order.
func inOrder(what string, all []given) {
	ended := slices.SortedFunc(slices.Values(all), func(a, b given) int { return int(a.end - b.end) })
	began := slices.SortedFunc(slices.Values(all), func(a, b given) int { return int(a.begin - b.begin) })
	highest, i := int64(0), 0
	for _, one := range began {
		for ; ended[i].end < one.begin; i++ {
			highest = max(highest, ended[i].order)
		}
		if one.order <= highest {
			steps.Fail("%s: order %d was given out by a call that had ended before order %d was asked for", what, highest, one.order)
		}
	}
}
