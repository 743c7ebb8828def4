package memqueue

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

func (c *coder) store(servers *int64, epoch *uint64, begun *int64) {
	c.count(servers)
	c.epoch(epoch)
	c.num(begun)
}

func (c *coder) epoch(v *uint64) {
	n := int64(*v) //nolint:gosec // an epoch is less than 2^53
	c.num(&n)
	if *v = uint64(n); n < 1 { //nolint:gosec // or it is refused
		c.fail("an epoch of the saved state is %d, and may be 1 to 2^53; %s", n, remedy)
	}
}

// room is a room. Of the line only the users are saved: the blocks and the log of
// their changes are made again.
func (c *coder) room(m *content) {
	c.epoch(&m.epoch)
	for _, v := range []*int64{&m.begun, &m.lost, &m.top, &m.gate.base, &m.gate.positions} {
		c.num(v)
	}
	for _, v := range []*int64{&m.settled, &m.tick, &m.swept} {
		c.when(v)
	}
	threshold, set := int64(0), m.threshold != nil
	if set {
		threshold = min(int64(*m.threshold), maxCount)
	}
	c.count(&threshold)
	counts(c, &m.admitted)
	counts(c, &m.joined, &m.entered, &m.noShows, &m.expired, &m.departed, &m.removed)
	for _, v := range []*bool{&set, &m.cleared, &m.paused, &m.gate.known, &m.gate.on, &m.idle, &m.listed} {
		c.flag(v)
	}
	if n := int(threshold); set {
		m.threshold = &n
	}
	version := int64(m.line.version) //nolint:gosec // a change each, from 0
	c.count(&version)
	m.line.version = uint64(version) //nolint:gosec // not negative
	c.blocks(m.used)
	c.line(m)
	c.turns(m)
	c.inside(m)
	if c.format > laneless {
		c.returns(m)
		c.lanes(m)
	}
	c.rate(&m.rate)
	c.stays(m)
	if c.format > flagless {
		c.challenge(m)
	}
}

// challenge is what operators have set of it, if anything.
func (c *coder) challenge(m *content) {
	set, on := m.challenge != nil, m.challenge != nil && *m.challenge
	c.flag(&set)
	c.flag(&on)
	if m.challenge = nil; set {
		m.challenge = &on
	}
}

// blocks are orders, such as those that were given out.
func (c *coder) blocks(of orders) {
	for number := range list(c, slices.Sorted(maps.Keys(of))) {
		block := new([driver.BlockSize / 64]uint64)
		if c.to != nil {
			block = of[number]
		}
		c.count(&number)
		c.words(block[:])
		of[number] = block
	}
}

func (c *coder) line(m *content) {
	n := int64(m.line.waiting)
	c.count(&n)
	last := int64(0)
	one := func(order int64, who *member) int64 {
		step := order - last
		c.num(&step)
		c.name(&who.user, driver.MaxUser)
		c.when(&who.alive)
		last += step
		return step
	}
	if c.to != nil {
		for _, e := range m.line.ordered {
			for w, word := range e.block.bits {
				for ; word != 0; word &= word - 1 {
					bit := w*64 + bits.TrailingZeros64(word)
					one(e.number*driver.BlockSize+int64(bit), &e.block.members[bit])
				}
			}
		}
		return
	}
	// A Look by an older version, also by one that was not saved, gets all blocks.
	m.line = newLine(m.line.version + 1<<32)
	m.told = m.line.version
	for ; n > 0 && c.err == nil; n-- {
		var who member
		if step := one(0, &who); c.err == nil && (step <= 0 || last > maxOrder) {
			c.fail("the saved line is not in order; %s", remedy)
		}
		if c.err == nil {
			m.line.add(last, who.user, who.alive)
		}
	}
	if c.err == nil {
		c.positions(m)
	}
}

// positions finds the users of the line by name, once their number is certain.
func (c *coder) positions(m *content) {
	m.position = make(map[string]int64, m.line.waiting)
	for _, e := range m.line.ordered {
		for i, who := range e.block.members {
			if who.user != "" {
				m.position[who.user] = e.number*driver.BlockSize + int64(i)
			}
		}
	}
	if len(m.position) != m.line.waiting {
		c.fail("a user of the saved state waits twice; %s", remedy)
	}
}

// has says whether a user waits or is inside.
func (m *content) has(user string) bool {
	_, waits := m.position[user]
	return waits || m.returners.users[user] != nil || m.turns.users[user] != nil || m.inside.users[user] != nil
}

// turns are the entitled users.
func (c *coder) turns(m *content) {
	for t := range list(c, m.turns.due) {
		t = cmp.Or(t, &turn{})
		c.name(&t.user, driver.MaxUser)
		c.order(&t.order)
		c.when(&t.last)
		c.when(&t.due)
		c.flag(&t.silent)
		if of := int64(t.of); c.format > laneless {
			c.count(&of)
			t.of = class(min(of, int64(returning)))
		}
		switch {
		case !c.reads():
		case m.has(t.user):
			c.fail("a user of the saved state has two places; %s", remedy)
		default:
			m.turns.add(t)
		}
	}
}

func (c *coder) inside(m *content) {
	for g := range list(c, m.inside.ends) {
		g = cmp.Or(g, &guest{})
		c.name(&g.user, driver.MaxUser)
		c.num(&g.order)
		for _, v := range []*int64{&g.began, &g.expires, &g.end} {
			c.when(v)
		}
		switch {
		case !c.reads():
		case m.has(g.user):
			c.fail("a user of the saved state has two places; %s", remedy)
		default:
			m.inside.add(g)
		}
	}
	c.missed(m)
}

// missed are the turns of no-shows.
func (c *coder) missed(m *content) {
	for t := range list(c, m.inside.over) {
		t = cmp.Or(t, &missed{})
		c.name(&t.user, driver.MaxUser)
		c.order(&t.order)
		c.when(&t.until)
		if c.reads() {
			m.inside.miss(t)
		}
	}
}

func (c *coder) rate(r *rate) {
	for i := range r {
		at, n := r[i].second*second, int64(r[i].count)
		c.when(&at)
		c.count(&n)
		if c.to == nil && n > 0 && n < 1<<32 && at >= 0 {
			r.add(at, int(n))
		}
	}
}

// stays are the counts of those that have left. Those inside are counted again.
func (c *coder) stays(m *content) {
	s := &m.stays
	for _, v := range []*time.Duration{&s.rules.Active, &s.rules.NoShow, &s.rules.Tick} {
		us := v.Microseconds()
		c.count(&us)
		*v = span(us)
	}
	counts(c, &s.rules.Batch)
	counts(c, &s.span, &s.came)
	c.when(&s.since)
	c.when(&s.next)
	for i := range s.ended {
		counts(c, &s.ended[i], &s.anew[i])
	}
	if c.to != nil || s.span == 0 || c.err != nil {
		return
	}
	s.newest = c.at / s.span
	for _, g := range m.inside.ends {
		if number := min(g.began/s.span, s.newest); number >= 0 && number > s.newest-cohorts {
			in := &s.inside[number%cohorts]
			in.users++
			in.sum += g.began - number*s.span
		}
	}
}
