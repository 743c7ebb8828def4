package memqueue

import (
	"maps"
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

// returns are the kept orders, and the users that came back.
func (c *coder) returns(m *content) {
	c.count(&m.returned)
	c.when(&m.keptUntil)
	c.blocks(m.kept)
	n, all := int64(len(m.returners.ordered)), m.returners.ordered
	c.count(&n)
	last := int64(0)
	for i := int64(0); i < n && c.err == nil; i++ {
		var one driver.Admitted
		alive := int64(0)
		if c.to != nil {
			one = all[i]
			alive = m.returners.users[one.User].alive
		}
		c.admitted(&one)
		c.when(&alive)
		if c.to != nil || c.err != nil {
			continue
		}
		if m.has(one.User) || one.Order <= last {
			c.fail("a user of the saved state has two places, or is not in order; %s", remedy)
			return
		}
		last = one.Order
		m.returners.add(one.User, one.Order, alive)
	}
}

func (c *coder) admitted(one *driver.Admitted) {
	c.name(&one.User, maxUser)
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
	n, names := int64(len(m.lanes)), slices.Sorted(maps.Keys(m.lanes))
	c.count(&n)
	for i := int64(0); i < n && c.err == nil; i++ {
		name, l := "", &lane{}
		if c.to != nil {
			name, l = names[i], m.lanes[names[i]]
		}
		c.name(&name, maxUser)
		users := int64(len(l.ordered))
		c.count(&users)
		for k := int64(0); k < users && c.err == nil; k++ {
			var one driver.Admitted
			if c.to != nil {
				one = l.ordered[k]
			}
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
