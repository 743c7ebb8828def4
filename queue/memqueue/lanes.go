package memqueue

import (
	"cmp"
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

// lane is an index of the users of a lane, who stand in the line as well. An entry whose
// user no longer waits by its order is void.
type lane struct {
	ordered []driver.Admitted // by order
	limit   int               // when void entries are looked for
	drawn   []driver.Admitted // users that a draw has moved, until it ends
}

// joinLane puts a user of the line into the lane of a visit.
func (m *room) joinLane(v driver.Visit, order int64) {
	if v.Lane == "" {
		return
	}
	m.shared = true
	l := m.lanes[v.Lane]
	if l == nil {
		l = &lane{}
		m.lanes[v.Lane] = l
	}
	if len(l.ordered) >= max(64, l.limit) {
		l.ordered = slices.DeleteFunc(l.ordered, m.void)
		l.limit = 2 * len(l.ordered)
	}
	l.insert(driver.Admitted{User: v.User, Order: order})
}

func (l *lane) insert(one driver.Admitted) {
	l.ordered = slices.Insert(l.ordered, find(l.ordered, one.Order), one)
}

func (m *room) void(one driver.Admitted) bool {
	order, waits := m.position[one.User]
	return !waits || order != one.Order
}

// head is the first user of a lane; nil when there is none.
func (m *room) head(name string) *driver.Admitted {
	l := m.lanes[name]
	if l == nil {
		return nil
	}
	for len(l.ordered) > 0 && m.void(l.ordered[0]) {
		l.ordered = l.ordered[1:]
	}
	if len(l.ordered) == 0 {
		return nil
	}
	return &l.ordered[0]
}

// moveInLanes notes the new order of a user in the lanes that have it by the old one.
func (m *room) moveInLanes(one driver.Admitted, was int64) {
	for _, l := range m.lanes {
		if i := find(l.ordered, was); i < len(l.ordered) && l.ordered[i] == (driver.Admitted{User: one.User, Order: was}) {
			l.drawn = append(l.drawn, one)
		}
	}
}

// reorderLanes follows a draw, by which users of the line got other orders.
func (m *room) reorderLanes() {
	for _, l := range m.lanes {
		l.ordered, l.drawn = m.members(l), nil
		slices.SortFunc(l.ordered, func(a, b driver.Admitted) int { return cmp.Compare(a.Order, b.Order) })
	}
}

// members are the users of a lane, in a new slice; those that a draw has moved come last.
func (m *room) members(l *lane) []driver.Admitted {
	return slices.DeleteFunc(slices.Concat(l.ordered, l.drawn), m.void)
}

// returnersShare is the part of all turns that returners take at most.
const returnersShare = 0.25

// A share is due when the credit, which grows by the share with each turn, is one. Sums of
// shares may be a little less.
const due = 1 - 1e-9

// next takes out a user whose turn comes. There is one.
func (m *room) next(r driver.Rules) (one driver.Admitted, of class) {
	if m.shared {
		one, of = m.share(r)
	}
	if of == returning {
		m.returners.remove(one.User)
		return one, of
	}
	first := m.line.first()
	if of == lined || one.Order == first {
		one, of = driver.Admitted{User: m.line.at(first).user, Order: first}, lined
	}
	m.unline(one.User, one.Order)
	one.Laned = of == laned
	return one, of
}

// share is the user of a lane or of the returners whose turn is due; lined, if none is.
func (m *room) share(r driver.Rules) (one driver.Admitted, of class) {
	m.credit[0] = min(1, m.credit[0]+returnersShare)
	if len(m.returners.ordered) > 0 && (m.credit[0] >= due || m.line.waiting == 0) {
		one = m.returners.ordered[0]
		m.credit[0] = max(0, m.credit[0]-1)
		of = returning
	}
	for i, lane := range r.Lanes {
		credit := m.credit[i+1] + m.shareOf(lane)
		if credit >= due {
			switch first := m.head(lane.Name); {
			case first == nil:
				credit = 1
			case of == lined:
				one, of = *first, laned
				credit -= 1
			}
		}
		m.credit[i+1] = min(2, credit)
	}
	return one, of
}
