package queuetest

import (
	"slices"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

// class says how a turn came: in the line, in a lane, or among the returners.
type class int

const (
	lined class = iota
	laned
	returning
)

// behind is the least rank of a returner, which takes a place after all others.
const behind = 1 << 55

func (t *turnOf) rank() int64 {
	if t.of == returning {
		return t.order + behind
	}
	return t.order
}

// walkShare is that of the lane of a [Walk].
const walkShare = 0.3

// shares follows which turns a lane and the returners had.
type shares struct {
	turns, fromLane int
	sinceReturner   int // turns from the last of a returner on, with it; before the first 4
	withReturner    int // turns of others, one after the other, while a returner waited
	withMember      int // the same with a member of the lane
}

// called is how many turns of a class have come.
func (m *model) called(of class) (n int) {
	for _, t := range m.turns {
		if t.of == of {
			n++
		}
	}
	return n
}

// uncounted is how many turns with a lower rank than that of t are not before it as its
// user is told: those that came in a lane, and for a returner all that are of no returner.
func (m *model) uncounted(t *turnOf) (n int) {
	for _, other := range m.turns {
		if other.rank() < t.rank() && (t.of == returning && other.of != returning || other.of == laned) {
			n++
		}
	}
	return n
}

func (m *model) among(user string) int {
	return slices.IndexFunc(m.back, func(w waiter) bool { return w.user == user })
}

func (m *model) waits(user string) bool {
	return m.at(user) >= 0 || m.among(user) >= 0 || m.turns[user] != nil
}

// comesBack is the kept order of a user outside, which counts once.
func (m *model) comesBack(v driver.Visit, now time.Time) (order int64) {
	if t, ok := m.missed[v.User]; ok {
		delete(m.missed, v.User)
		order = t.order
	} else if ends := v.Until.Add(m.r.Keep); v.Epoch == m.epoch && m.kept[v.Order] {
		if ends.Sub(now).Abs() < near {
			steps.Do(errTooClose)
		}
		if ends.Before(now) {
			return 0
		}
		order = v.Order
	}
	delete(m.kept, order)
	return order
}

// returns follows a user that comes back to a kept order.
func (m *model) returns(user string, order int64, now time.Time) driver.Outcome {
	if order == 0 {
		return driver.Outcome{}
	}
	m.returned++
	if takers, _ := m.before(all); len(m.line)+len(m.back) == 0 && m.open(now) > takers {
		return m.enter(user, order, now)
	}
	i, _ := slices.BinarySearchFunc(m.back, order, func(w waiter, order int64) int { return int(w.order - order) })
	m.back = slices.Insert(m.back, i, waiter{user: user, order: order, heard: now})
	return driver.Outcome{Status: driver.Waiting, Order: order, Ahead: m.called(returning) + i, New: true, Returner: true}
}

// turnComes follows one turn, which is that of the first of the line, of the lane or of the
// returners, and checks that none of them has more or less than its share.
func (m *model) turnComes(one driver.Admitted) class {
	first := func(w waiter) bool { return w.user == one.User && w.order == one.Order }
	s := &m.shares
	s.turns++
	member := slices.IndexFunc(m.line, func(w waiter) bool { return w.laned })
	returners, of, fromLane := len(m.back) > 0, lined, false
	switch {
	case len(m.line) > 0 && first(m.line[0]):
		fromLane = member == 0
		m.line = m.line[1:]
	case member > 0 && first(m.line[member]):
		of, fromLane = laned, true
		s.fromLane++
		m.line = slices.Delete(m.line, member, member+1)
		if most := walkShare*float64(s.turns) + 2; float64(s.fromLane) > most {
			steps.Fail("%+v: %d of %d turns came in the lane with a share of %g", one, s.fromLane, s.turns, walkShare)
		}
	case returners && first(m.back[0]):
		of = returning
		if s.sinceReturner < 4 && len(m.line) > 0 {
			steps.Fail("%+v: the turn of a returner came %d turns after that of another", one, s.sinceReturner)
		}
		s.sinceReturner = 0
		m.back = m.back[1:]
	default:
		steps.Fail("the turn of %+v came; in line wait %+v, among the returners %+v", one, m.line, m.back)
	}
	if s.sinceReturner++; of == returning || !returners {
		s.withReturner = 0
	} else if s.withReturner++; s.withReturner > 3 {
		steps.Fail("%+v: %d turns came one after the other while a returner waited", one, s.withReturner)
	}
	if fromLane || member < 0 {
		s.withMember = 0
	} else if s.withMember++; s.withMember > 5 {
		steps.Fail("%+v: %d turns came one after the other while a user of the lane waited", one, s.withMember)
	}
	return of
}

// returnersStay follows a sweep, by which silent returners go, and returns how many went.
func (m *model) returnersStay(now time.Time, guarded bool) (gone int) {
	if guarded {
		return 0
	}
	var stay []waiter
	for _, w := range m.back {
		switch silent := now.Sub(w.heard); {
		case (silent - m.r.Seen).Abs() < soon:
			steps.Do(errTooClose)
		case silent > m.r.Seen:
			gone++
		default:
			stay = append(stay, w)
		}
	}
	m.back = stay
	return gone
}
