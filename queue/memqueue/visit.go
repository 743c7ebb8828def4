package memqueue

import (
	"cmp"
	"strings"

	"github.com/millrace-go/millrace/queue/driver"
)

func (m *room) beat(b driver.Beats, now int64, r driver.Rules) {
	if b.Highest <= maxOrder {
		m.top = max(m.top, b.Highest)
	}
	for _, h := range b.Heard {
		if at := h.At.UnixMicro(); h.Epoch != 0 && h.Epoch != m.epoch && at > m.begun-driver.Lapse.Microseconds() && m.young(now, r) {
			m.lost, m.settled = max(m.lost, min(at, m.begun)), m.begun+r.Settle.Microseconds()
		}
	}
	if b.Epoch != m.epoch {
		return
	}
	for _, order := range b.Orders {
		if order <= 0 {
			continue
		}
		if who := m.line.at(order); who != nil {
			who.alive = now
		}
	}
}

func (m *room) visit(v driver.Visit, now int64, r driver.Rules) driver.Outcome {
	if g := m.inside.users[v.User]; g != nil {
		return m.visitInside(g, v, now, r)
	}
	switch v.Kind {
	case driver.Leave:
		return m.leave(v.User)
	case driver.Verify:
		return driver.Outcome{}
	}
	if t := m.turns.users[v.User]; t != nil {
		return m.visitTurn(t, v, now, r)
	}
	if order, ok := m.position[v.User]; ok {
		return m.visitLine(order, v, now)
	}
	if one := m.returners.users[v.User]; one != nil {
		return m.visitReturner(one, v, now)
	}
	if v.Kind == driver.Check {
		return m.arrive(v, now, r)
	}
	return driver.Outcome{}
}

// leave takes out a user that waits. A no-show gives up the kept place.
func (m *room) leave(user string) driver.Outcome {
	order, lined := m.position[user]
	switch t := m.turns.users[user]; {
	case t != nil:
		m.turns.remove(t)
	case lined:
		m.unline(user, order)
	case m.returners.users[user] != nil:
		m.returners.remove(user)
	default:
		if t := m.inside.missed[user]; t != nil {
			m.inside.forget(t)
			m.kept.remove(t.order)
		}
		return driver.Outcome{}
	}
	m.departed++
	return driver.Outcome{New: true}
}

// unline takes a user out of the line.
func (m *room) unline(user string, order int64) {
	m.line.remove(order)
	delete(m.position, user)
}

func (m *room) visitInside(g *guest, v driver.Visit, now int64, r driver.Rules) driver.Outcome {
	switch v.Kind {
	case driver.Leave, driver.Done:
		m.inside.remove(g)
		m.departed++
		m.stays.leave(g.began, now, r, m.limit(r))
		return driver.Outcome{New: true}
	case driver.Verify:
		if v.Entry != g.order {
			return driver.Outcome{}
		}
	}
	m.inside.hear(g, now, r.Seen.Microseconds())
	return driver.Outcome{Status: driver.Active, Order: g.order, Left: span(g.expires - now)}
}

func (m *room) visitLine(order int64, v driver.Visit, now int64) driver.Outcome {
	if v.Kind != driver.Done {
		m.line.at(order).alive = now
	}
	return driver.Outcome{Status: driver.Waiting, Order: order, Ahead: m.ahead(order)}
}

// ahead counts the users before a waiting one: all whose turn has come in the line are.
func (m *room) ahead(order int64) int { return m.turns.ahead() + m.line.ahead(order) }

// arrive serves a Check of a user outside the room.
func (m *room) arrive(v driver.Visit, now int64, r driver.Rules) driver.Outcome {
	v.User = strings.Clone(v.User) // it may be a part of a large request
	if order := m.comesBack(v, now, r); order > 0 {
		return m.back(v.User, order, now, r)
	}
	order := m.order(v, now, r)
	if order == 0 {
		return driver.Outcome{Status: driver.Gated}
	}
	m.joined++
	if m.entersAtOnce(now, r) {
		return m.enter(v.User, order, now, r)
	}
	m.line.add(order, v.User, now)
	m.position[v.User] = order
	m.joinLane(v, order)
	return driver.Outcome{Status: driver.Waiting, Order: order, Ahead: m.ahead(order), New: true}
}

// enter gives a user a place.
func (m *room) enter(user string, order, now int64, r driver.Rules) driver.Outcome {
	m.entered++
	expires := now + r.Active.Microseconds()
	m.inside.add(&guest{user: user, order: order, began: now, expires: expires, end: min(expires, now+r.Seen.Microseconds())})
	m.stays.enter(now, r)
	return driver.Outcome{Status: driver.Active, Order: order, Left: r.Active, New: true, Entered: true}
}

// young says whether the room waits for those that it has lost: an epoch that began
// by Clear has lost no user.
func (m *room) young(now int64, r driver.Rules) bool {
	return !m.cleared && now < m.begun+r.Settle.Microseconds()
}

// counts says whether a ticket is of an epoch that was lost, and was renewed until
// then.
func (m *room) counts(v driver.Visit, now int64, r driver.Rules) bool {
	if v.Epoch == 0 || v.Epoch == m.epoch || v.Order < 1 || v.Order > maxOrder || !m.young(now, r) {
		return false
	}
	return v.Until.UnixMicro() >= cmp.Or(m.lost, m.begun)
}

// order is where the user lines up; zero when the gate is closed to the user.
func (m *room) order(v driver.Visit, now int64, r driver.Rules) int64 {
	if v.Epoch == m.epoch && v.Order > 0 && v.Order <= maxOrder && now <= v.Until.Add(r.Seen).UnixMicro() && m.take(v.Order) {
		return v.Order
	}
	if m.counts(v, now, r) {
		m.settled = m.begun + r.Settle.Microseconds()
		if m.take(v.Order) {
			return v.Order
		}
	}
	if m.gate.on || m.gate.known && v.Position <= m.gate.positions {
		if at := m.gate.base + v.Position; v.Position > 0 && v.Position <= maxOrder && at > 0 && at <= maxOrder && m.take(at) {
			return at
		}
	}
	if m.gate.on {
		return 0 // orders above the highest are those of positions that are on their way
	}
	end := m.top + 1
	m.take(end)
	return end
}
