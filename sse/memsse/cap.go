package memsse

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sse/driver"
)

type connections struct {
	now func() time.Time

	mu      sync.Mutex
	leases  map[string]time.Time // instance → end
	members map[string]*member
	order   []*member // by number; those that were forgotten are taken out in time
	number  uint64
}

type member struct {
	name      string
	number    uint64
	entries   []entry // by time
	evicted   []token // by the end of their time
	forgotten bool
}

type entry struct {
	driver.Conn
	at time.Time
}

type token struct {
	id    string
	until time.Time
}

// remembered bounds the evicted tokens of a member.
const remembered = 64

// New makes an empty cap, and a broker without listeners.
func New() (driver.MemoryCap, driver.Broker) { return newCap(time.Now), &broker{} }

func newCap(now func() time.Time) *connections {
	return &connections{now: now, leases: map[string]time.Time{}, members: map[string]*member{}}
}

// Renew implements [driver.Cap].
func (c *connections) Renew(ctx context.Context, instance string, lease time.Duration) (driver.Live, error) {
	if err := ctx.Err(); err != nil {
		return driver.Live{}, unasked(err)
	}
	switch {
	case instance == "" || len(instance) > driver.MaxToken:
		return driver.Live{}, invalid("an instance has %d bytes, not 1 to %d", len(instance), driver.MaxToken)
	case lease <= 0:
		return driver.Live{}, invalid("a lease of %v; it must be positive", lease)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	c.leases[instance] = now.Add(lease)
	live := driver.Live{At: now}
	for name, until := range c.leases {
		if until.Before(now) {
			delete(c.leases, name)
			continue
		}
		live.Instances = append(live.Instances, name)
	}
	slices.Sort(live.Instances)
	return live, nil
}

// Resign implements [driver.Cap].
func (c *connections) Resign(ctx context.Context, instance string) error {
	if err := ctx.Err(); err != nil {
		return unasked(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.leases, instance)
	return nil
}

// Open implements [driver.Cap].
func (c *connections) Open(ctx context.Context, r driver.Rules, live driver.Live, conn driver.Conn) (driver.Opened, error) {
	if err := ctx.Err(); err != nil {
		return driver.Opened{}, unasked(err)
	}
	if err := check(r, conn); err != nil {
		return driver.Opened{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	m := c.member(conn.Member)
	m.forget(now)
	if slices.ContainsFunc(m.evicted, func(t token) bool { return t.id == conn.Token }) {
		return driver.Opened{}, fault.MarkPermanent(driver.ErrEvicted)
	}
	if slices.ContainsFunc(m.entries, func(e entry) bool { return e.ID == conn.ID }) {
		return driver.Opened{}, nil
	}
	opened := driver.Opened{Ghosts: m.bury(now, r, live)}
	own := func(e entry) bool { return e.Token == conn.Token }
	if r.NoVictims {
		others := slices.DeleteFunc(slices.Clone(m.entries), own)
		if len(others) >= r.Max {
			for _, e := range m.entries {
				opened.Full = append(opened.Full, e.Conn)
			}
			return opened, nil
		}
	}
	m.entries = slices.DeleteFunc(m.entries, func(e entry) bool {
		if own(e) {
			opened.Replaced = append(opened.Replaced, e.Conn)
		}
		return own(e)
	})
	at := now
	if n := len(m.entries); n > 0 && !m.entries[n-1].at.Before(at) {
		at = m.entries[n-1].at.Add(time.Nanosecond)
	}
	m.entries = append(m.entries, entry{conn, at})
	for over := len(m.entries) - r.Max; over > 0; over-- {
		// The silent before the oldest, and never the new one, which is the last.
		others := m.entries[:len(m.entries)-1]
		first := max(0, slices.IndexFunc(others, func(e entry) bool { return slices.Contains(live.Silent, e.ID) }))
		victim := m.entries[first].Conn
		m.entries = slices.Delete(m.entries, first, first+1)
		opened.Evicted = append(opened.Evicted, victim)
		m.evicted = append(m.evicted, token{victim.Token, now.Add(r.Lifetime)})
	}
	m.evicted = m.evicted[max(0, len(m.evicted)-remembered):]
	return opened, nil
}

// Gone implements [driver.Cap].
func (c *connections) Gone(ctx context.Context, conns []driver.Conn) ([]driver.Missing, error) {
	if err := some(ctx, conns); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	var missing []driver.Missing
	for _, conn := range conns {
		m := c.members[conn.Member]
		if m == nil {
			missing = append(missing, driver.Missing{Conn: conn})
			continue
		}
		m.forget(now)
		if slices.ContainsFunc(m.entries, func(e entry) bool { return e.ID == conn.ID }) {
			continue
		}
		evicted := slices.ContainsFunc(m.evicted, func(t token) bool { return t.id == conn.Token }) ||
			slices.ContainsFunc(m.entries, func(e entry) bool { return e.Token == conn.Token })
		missing = append(missing, driver.Missing{Conn: conn, Evicted: evicted})
	}
	return missing, nil
}

// Close implements [driver.Cap].
func (c *connections) Close(ctx context.Context, conns []driver.Conn) error {
	if err := some(ctx, conns); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range conns {
		if m := c.members[conn.Member]; m != nil {
			m.entries = slices.DeleteFunc(m.entries, func(e entry) bool { return e.ID == conn.ID })
			m.forget(c.now())
			c.leave(m)
		}
	}
	return nil
}

// member returns a member, new or not.
func (c *connections) member(name string) *member {
	m := c.members[name]
	if m == nil {
		c.number++
		m = &member{name: name, number: c.number}
		c.members[name] = m
		c.order = append(c.order, m)
	}
	return m
}

// leave drops a member with no entries and no remembered tokens.
func (c *connections) leave(m *member) {
	if m.forgotten || len(m.entries) > 0 || len(m.evicted) > 0 {
		return
	}
	m.forgotten = true
	delete(c.members, m.name)
	if len(c.order) > 2*len(c.members)+16 {
		c.order = slices.DeleteFunc(c.order, func(m *member) bool { return m.forgotten })
	}
}

// bury removes the ghosts.
func (m *member) bury(now time.Time, r driver.Rules, live driver.Live) int {
	before := len(m.entries)
	m.entries = slices.DeleteFunc(m.entries, func(e entry) bool {
		if e.at.Add(r.Lifetime).Before(now) || slices.Contains(live.Gone, e.ID) {
			return true
		}
		return e.at.Before(live.At) && !slices.Contains(live.Instances, driver.Instance(e.ID))
	})
	return before - len(m.entries)
}

// forget drops the tokens whose time is over.
func (m *member) forget(now time.Time) {
	m.evicted = slices.DeleteFunc(m.evicted, func(t token) bool { return t.until.Before(now) })
}

// sweepStep is the number of members in a call of Sweep.
const sweepStep = 256

// Sweep implements [driver.Cap].
func (c *connections) Sweep(ctx context.Context, r driver.Rules, live driver.Live, from string) (driver.Swept, error) {
	if err := ctx.Err(); err != nil {
		return driver.Swept{}, unasked(err)
	}
	after, err := parseCursor(from)
	if err != nil {
		return driver.Swept{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	i := sort.Search(len(c.order), func(i int) bool { return c.order[i].number > after })
	step := slices.Clone(c.order[i:min(i+sweepStep, len(c.order))])
	if len(step) == 0 {
		return driver.Swept{Done: true}, nil
	}
	last := step[len(step)-1]
	swept := driver.Swept{Next: formatCursor(last.number), Done: last == c.order[len(c.order)-1]}
	for _, m := range step {
		swept.Removed += m.bury(now, r, live)
		m.forget(now)
		c.leave(m)
	}
	return swept, nil
}

// Members implements [driver.MemoryCap].
func (c *connections) Members() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.members)
}
