package queuetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

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
func concurrentInstances(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(20))
	past := &history{entered: map[string]int64{}, left: map[string]bool{}}
	everybody := names("shared", 150)
	shared := everybody[:150:150]
	for i := range instances {
		everybody = append(everybody, names(fmt.Sprintf("own%d-", i), 300)...)
	}
	err := together(p, func(i int, p *player) error {
		r := random(uint64(10 + i))
		own := everybody[150+300*i:][:300]
		for n := range 30 {
			if err := past.come(p, own[10*n:10*n+10], shared[5*n:5*n+5]); err != nil {
				return err
			}
			if err := past.leave(p, own[10*n+r.IntN(10)]); err != nil {
				return err
			}
			var err error
			switch r.IntN(6) {
			case 0, 1, 2:
				err = past.admit(p)
			case 3:
				_, err = p.change(driver.Change{Threshold: new(r.IntN(400))})
			case 4:
				_, err = p.sweep()
			case 5:
				_, err = new(snapshot).refresh(p)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return steps(
		func() error { return p.threshold(10_000) },
		func() error { return past.admit(p) },
		func() error { return past.take(p) },
		func() error { return past.whole(p, everybody) },
		past.arrivals,
		func() error { return inOrder("admissions", past.admitted) },
	)
}

// come checks in the users of this instance, once, and others that come to every
// instance.
func (past *history) come(p *player, own, shared []string) error {
	users := slices.Concat(own, shared)
	begin := past.clock.Add(1)
	got, err := p.visit(checks(users...)...)
	end := past.clock.Add(1)
	if err != nil {
		return err
	}
	past.mu.Lock()
	defer past.mu.Unlock()
	last := int64(0)
	for i, o := range got.Outcomes {
		switch o.Status {
		case driver.Active:
			if i < len(own) && got.Active > got.Threshold {
				return fmt.Errorf("%s enters a room that then is %+v", users[i], got.State)
			}
			if err := past.enter(users[i], o.Order); err != nil {
				return err
			}
		case driver.Waiting:
		default:
			return fmt.Errorf("%s checks, and is answered %+v", users[i], o)
		}
		if o.New && (i < len(own) || o.Status == driver.Waiting) { // the others may be seen inside for the first time
			past.arrived = append(past.arrived, given{begin, end, o.Order, users[i]})
		}
		if i < len(own) {
			if !o.New || o.Order <= last {
				return fmt.Errorf("%s comes for the first time after order %d, and is answered %+v", users[i], last, o)
			}
			last = o.Order
		}
	}
	return nil
}

// enter records the order by which a user is inside.
func (past *history) enter(user string, order int64) error {
	if before, ok := past.entered[user]; ok && before != order {
		return fmt.Errorf("%s is inside by order %d and by order %d", user, before, order)
	}
	past.entered[user] = order
	return nil
}

func (past *history) leave(p *player, user string) error {
	o, err := p.one(driver.Visit{Kind: driver.Leave, User: user})
	if err != nil {
		return err
	}
	if o != (driver.Outcome{New: true}) {
		return fmt.Errorf("%s came, leaves, and is answered %+v", user, o)
	}
	past.mu.Lock()
	defer past.mu.Unlock()
	past.left[user] = true
	return nil
}

func (past *history) admit(p *player) error {
	for more := true; more; {
		begin := past.clock.Add(1)
		a, err := p.store.Admit(p.ctx, p.event, p.r)
		end := past.clock.Add(1)
		if err != nil {
			return err
		}
		if len(a.Admitted) > 0 && a.Active+a.Entitled > a.Threshold {
			return fmt.Errorf("%d turns come in a room that then is %+v", len(a.Admitted), a.State)
		}
		if err := past.admission(a, begin, end); err != nil {
			return err
		}
		more = a.More
	}
	return nil
}

// take has the users poll whose turn has come, and who did not leave.
func (past *history) take(p *player) error {
	for _, one := range past.admitted {
		if past.left[one.user] {
			continue
		}
		o, err := p.stands("when there are places for all", one.user, driver.Active)
		if err == nil && o.Order != one.order {
			err = fmt.Errorf("the turn of %s came by order %d, and a poll is answered %+v", one.user, one.order, o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (past *history) admission(a driver.Admission, begin, end int64) error {
	past.mu.Lock()
	defer past.mu.Unlock()
	last := int64(0)
	for _, one := range a.Admitted {
		if one.Order <= last {
			return fmt.Errorf("%s is admitted by order %d after order %d", one.User, one.Order, last)
		}
		last = one.Order
		if err := past.enter(one.User, one.Order); err != nil {
			return err
		}
		past.admitted = append(past.admitted, given{begin, end, one.Order, one.User})
	}
	return nil
}

// whole expects that the room holds the users who came and did not leave.
func (past *history) whole(p *player, everybody []string) error {
	if err := past.everybody(everybody); err != nil {
		return err
	}
	inside := 0
	for _, user := range everybody {
		if !past.left[user] {
			inside++
		}
	}
	s, err := p.state()
	if err == nil && (s.Waiting != 0 || s.Active != inside) {
		err = fmt.Errorf("%d are to be inside when all have entered, and the room is %+v", inside, s)
	}
	return err
}

// everybody expects that each user who came entered, or left before that, and that
// each order admitted one user.
func (past *history) everybody(all []string) error {
	for _, user := range all {
		if _, entered := past.entered[user]; !entered && !past.left[user] {
			return fmt.Errorf("%s came, never left, and never entered", user)
		}
	}
	orders := map[int64]string{}
	for _, one := range past.admitted {
		if other, ok := orders[one.order]; ok {
			return fmt.Errorf("%s and %s are admitted by order %d", other, one.user, one.order)
		}
		orders[one.order] = one.user
	}
	return nil
}

// arrivals expects those that did not overlap to have ascending orders.
func (past *history) arrivals() error {
	users, orders := map[string]bool{}, map[int64]bool{}
	for _, one := range past.arrived {
		if users[one.user] || orders[one.order] {
			return fmt.Errorf("%s has order %d, and the user or the order was there before", one.user, one.order)
		}
		users[one.user], orders[one.order] = true, true
	}
	return inOrder("arrivals", past.arrived)
}

// inOrder expects that an action that ended before another began has the lower
// order.
func inOrder(what string, all []given) error {
	ended := slices.SortedFunc(slices.Values(all), func(a, b given) int { return int(a.end - b.end) })
	began := slices.SortedFunc(slices.Values(all), func(a, b given) int { return int(a.begin - b.begin) })
	highest, i := int64(0), 0
	for _, one := range began {
		for ; ended[i].end < one.begin; i++ {
			highest = max(highest, ended[i].order)
		}
		if one.order <= highest {
			return fmt.Errorf("%s: order %d was given out by a call that had ended before order %d was asked for", what, highest, one.order)
		}
	}
	return nil
}
