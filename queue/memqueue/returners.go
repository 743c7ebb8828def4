package memqueue

import (
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

// returners are the users that came back to a kept place, by their orders.
type returners struct {
	users   map[string]*returner
	ordered []driver.Admitted
}

type returner struct{ order, alive int64 }

func newReturners() returners { return returners{users: map[string]*returner{}} }

func (rs *returners) add(user string, order, now int64) {
	rs.users[user] = &returner{order: order, alive: now}
	rs.ordered = slices.Insert(rs.ordered, find(rs.ordered, order), driver.Admitted{User: user, Order: order})
}

func (rs *returners) remove(user string) {
	i := find(rs.ordered, rs.users[user].order)
	rs.ordered = slices.Delete(rs.ordered, i, i+1)
	delete(rs.users, user)
}

// keep keeps the order of a user that is silent.
func (m *room) keep(order int64, r driver.Rules, now int64) {
	if r.Keep <= 0 || m.early(now) {
		return
	}
	m.kept.add(order)
	// No ticket says a later time than three minutes from now.
	m.keptUntil = now + r.Keep.Microseconds() + 180*second
}

// comesBack is the kept order of a user outside, by name or by ticket, which counts once;
// zero when there is none. Before the opening there are no places to keep.
func (m *room) comesBack(v driver.Visit, now int64, r driver.Rules) int64 {
	switch t := m.inside.missed[v.User]; {
	case m.early(now):
		return 0
	case t != nil:
		m.inside.forget(t)
		m.kept.remove(t.order)
		return t.order
	case v.Epoch == m.epoch && v.Order > 0 && v.Order <= maxOrder && now <= v.Until.Add(r.Keep).UnixMicro() && m.kept.remove(v.Order):
		return v.Order
	}
	return 0
}

// back serves a user that comes back to a kept order.
func (m *room) back(user string, order, now int64, r driver.Rules) driver.Outcome {
	m.returned++
	m.shared = true
	if m.entersAtOnce(now, r) {
		return m.enter(user, order, now, r)
	}
	m.returners.add(user, order, now)
	o := m.returnerAt(order)
	o.New = true
	return o
}

func (m *room) returnerAt(order int64) driver.Outcome {
	return driver.Outcome{Status: driver.Waiting, Order: order, Ahead: m.turns.returning + find(m.returners.ordered, order), Returner: true}
}

// visitReturner serves a user among the returners.
func (m *room) visitReturner(one *returner, v driver.Visit, now int64) driver.Outcome {
	if v.Kind != driver.Done {
		one.alive = now
	}
	return m.returnerAt(one.order)
}

// sweepReturners removes at most most silent returners, and says whether there are more.
// Their places are not kept again.
func (m *room) sweepReturners(since int64, most int) (removed int, more bool) {
	for i := 0; i < len(m.returners.ordered); {
		user := m.returners.ordered[i].User
		switch {
		case m.returners.users[user].alive >= since:
			i++
		case removed == most:
			return removed, true
		default:
			m.returners.remove(user)
			m.removed++
			removed++
		}
	}
	return removed, false
}
