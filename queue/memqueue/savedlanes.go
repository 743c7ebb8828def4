package memqueue

import (
	"cmp"
	"maps"
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

// returns are the kept orders, and the users that came back.
func (c *coder) returns(m *content) {
	c.count(&m.returned)
	c.when(&m.keptUntil)
	c.blocks(m.kept)
	last := int64(0)
	for one := range list(c, m.returners.ordered) {
		alive := int64(0)
		if c.to != nil {
			alive = m.returners.users[one.User].alive
		}
		c.admitted(&one)
		c.when(&alive)
		switch {
		case !c.reads():
		case m.has(one.User) || one.Order <= last:
			c.fail("a user of the saved state has two places, or is not in order; %s", remedy)
		default:
			last = one.Order
			m.returners.add(one.User, one.Order, alive)
		}
	}
}

func (c *coder) admitted(one *driver.Admitted) {
	c.name(&one.User, driver.MaxUser)
	c.order(&one.Order)
}

// lanes are the users of each lane, and the credits in millionths.
func (c *coder) lanes(m *content) {
	c.flag(&m.shared)
	for i := range m.credit {
		credit := int64(m.credit[i] * 1e6)
		c.count(&credit)
		m.credit[i] = min(2, float64(credit)/1e6)
	}
	for name := range list(c, slices.Sorted(maps.Keys(m.lanes))) {
		l := cmp.Or(m.lanes[name], &lane{})
		c.name(&name, driver.MaxUser)
		for one := range list(c, l.ordered) {
			c.admitted(&one)
			if c.to == nil {
				l.insert(one)
			}
		}
		if c.to == nil {
			m.lanes[name] = l
		}
	}
}
