package memqueue

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/queue/draw"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/internal/roomcalls"
)

// opening is when the room opens, and its draw. It is not saved: a room that was
// restored asks its settings again.
type opening struct {
	at     int64 // 0: none
	phase  driver.Phase
	limit  int64 // the highest order that takes part
	holder uint64
	until  int64

	leaves       []draw.Leaf
	root         []byte
	seed, beacon []byte
}

const (
	hold         = 3 * second
	freezeBefore = int64(driver.FreezeBefore / 1000)
)

// early says that the room has not opened yet.
func (m *room) early(now int64) bool {
	return m.opening.at > 0 && (m.opening.phase < driver.Opened || now < m.opening.at)
}

// opens changes when the room opens. It is fixed when the room has frozen.
func (m *room) opens(c driver.Change) {
	if c.Opens == nil || m.opening.phase != driver.Gathering {
		return
	}
	m.opening = opening{}
	if !c.Opens.IsZero() {
		m.opening.at = c.Opens.UnixMicro()
	}
	if c.Opened {
		m.opening.phase = driver.Opened
	}
}

// clearOpening forgets a draw, and an opening that is over.
func (m *room) clearOpening() {
	if m.opening.phase == driver.Opened {
		m.opening.at = 0
	}
	m.opening = opening{at: m.opening.at}
}

// Draw makes a step; see [driver.Drawer].
func (s *store) Draw(ctx context.Context, event string, r driver.Rules, step driver.DrawStep) (driver.Drawn, error) {
	if err := cmp.Or(check(ctx, event, r), roomcalls.CheckStep(step)); err != nil {
		return driver.Drawn{}, fmt.Errorf("memqueue: draw: %w", err)
	}
	m, now := s.enter(event, step.Kind != driver.DrawLook)
	defer m.mu.Unlock()
	m.expire(now, r)
	d := driver.Drawn{Held: m.held(step, now)}
	if d.Held && step.Kind != driver.DrawLook {
		m.opening.holder, m.opening.until = step.Holder, now+hold
		d.Held = m.step(step, now, &d)
	}
	o := &m.opening
	if step.Kind == driver.DrawLook && o.phase >= driver.Rooted {
		from := min(max(0, int(step.From)), len(o.leaves))
		d.Leaves = slices.Clone(o.leaves[from:min(len(o.leaves), from+step.Most)])
	}
	d.State, d.Limit, d.Count, d.Root, d.Seed, d.Beacon = m.state(now, r), o.limit, len(o.leaves), o.root, o.seed, o.beacon
	return d, nil
}

func (m *room) held(step driver.DrawStep, now int64) bool {
	o := &m.opening
	if step.Kind == driver.DrawLook {
		return true
	}
	return o.at > 0 && o.phase < driver.Opened && now >= o.at-freezeBefore &&
		(o.holder == step.Holder || now >= o.until || o.until > now+hold)
}

// step does what fits the phase, and says whether it fits the steps before.
func (m *room) step(step driver.DrawStep, now int64, d *driver.Drawn) bool {
	o := &m.opening
	switch {
	case step.Kind == driver.DrawFreeze && o.phase == driver.Gathering:
		o.phase, o.limit, o.leaves = driver.Frozen, m.top, nil
		m.reserve(m.line.waiting)
		m.top += leap // for users that come back by a ticket before they are listed
	case step.Kind == driver.DrawList:
		d.Users = m.line.upTo(step.From+1, o.limit, step.Most)
	case step.Kind == driver.DrawLeaves && o.phase == driver.Frozen:
		if step.From == 0 {
			o.leaves = nil
		}
		if int64(len(o.leaves)) != step.From {
			return false
		}
		o.leaves = append(o.leaves, step.Leaves...)
	case step.Kind == driver.DrawRoot && o.phase == driver.Frozen && len(o.leaves) == step.Most:
		o.phase, o.root = driver.Rooted, bytes.Clone(step.Root)
	case step.Kind == driver.DrawSeed && o.phase == driver.Rooted:
		o.phase, o.seed, o.beacon = driver.Seeded, bytes.Clone(step.Seed), bytes.Clone(step.Beacon)
	case step.Kind == driver.DrawMove && o.phase == driver.Seeded:
		for _, one := range step.Moves {
			m.move(one, now)
		}
	case step.Kind == driver.DrawOpen && o.phase == driver.Seeded && len(m.line.upTo(0, o.limit, 1)) == 0:
		o.phase = driver.Opened
		m.reorderLanes()
	}
	return true
}

// reserve takes the next orders for the draw, so that no ticket takes one of them.
func (m *room) reserve(n int) {
	for range n {
		m.take(m.top + 1)
	}
}

// move gives a user the new order, unless the user has one.
func (m *room) move(one driver.Admitted, now int64) {
	was, waits := m.position[one.User]
	if !waits || was > m.opening.limit {
		return
	}
	if one.Order == 0 {
		one.Order = m.top + 1
		m.take(one.Order)
	}
	m.line.remove(was)
	m.line.add(one.Order, one.User, now)
	m.position[one.User] = one.Order
	m.moveInLanes(one, was)
}

// upTo returns up to most members with orders from the first to the last.
func (l *line) upTo(first, last int64, most int) (found []driver.Admitted) {
	i, _ := l.find(max(0, first) / driver.BlockSize)
	for ; i < len(l.ordered) && l.ordered[i].number*driver.BlockSize <= last; i++ {
		for bit, who := range l.ordered[i].block.members {
			order := l.ordered[i].number*driver.BlockSize + int64(bit)
			if who.user == "" || order < first || order > last {
				continue
			}
			if len(found) == most {
				return found
			}
			found = append(found, driver.Admitted{User: who.user, Order: order})
		}
	}
	return found
}
