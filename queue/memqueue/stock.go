package memqueue

import (
	"cmp"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// stock is what the room knows of the stock of its event. It is not saved: a room that
// was restored waits until it is told again.
type stock struct {
	known bool
	left  int
	at    int64 // when it was told; 0 before the first time
	base  int64 // how many had left by then, less than zero
	out   int64 // when it was told after a stock of 0 the last time; 0 for never
}

// restock takes what the event can serve from now on. Users that have left since it was asked
// for may have bought what it still has. A cleared room goes on with what it knows.
func (m *room) restock(c driver.Change, now int64) {
	switch s := c.Stock; {
	case s != nil:
		out := m.stock.out
		if m.stock.known && m.stock.left == 0 {
			out = now
		}
		gone := m.entered - int64(len(m.inside.users))
		switch {
		case s.At.IsZero():
		case s.Epoch == m.epoch:
			gone = min(gone, int64(s.Gone)) // a higher one is from before a loss
		default:
			gone = 0 // all have left since
		}
		m.stock = stock{known: s.Known, left: s.Left, at: now, base: -gone, out: out}
	case c.Clear:
		m.stock.base = 0
	}
}

// inStock is how many of so many places the stock is enough for. Users that have gone
// since it was told may have taken some.
func (m *room) inStock(places int, r driver.Rules) int {
	switch s := m.stock; {
	case r.Stocked && s.at == 0:
		return 0
	case s.known:
		return min(places, s.left-int(s.base+m.entered))
	}
	return places
}

// entersAtOnce says whether a newcomer finds a place that no user before has a right to. When
// seats come back to a house that was sold out, users whose turn has come take one at their next
// poll. Until they must have polled, a newcomer lines up behind them.
func (m *room) entersAtOnce(now int64, r driver.Rules) bool {
	takers := len(m.turns.takers)
	switch {
	case m.line.waiting+len(m.returners.ordered) > 0:
		return false
	case takers > 0 && m.stock.known && now >= m.stock.out && now-m.stock.out < min(cmp.Or(r.Turn, r.NoShow), r.NoShow).Microseconds():
		return false
	}
	return m.open(now, r) > takers
}

// knownStock is the stock as the state has it.
func (m *room) knownStock() driver.Stock {
	s := driver.Stock{Known: m.stock.known, Left: m.stock.left, At: time.UnixMicro(m.stock.at)}
	if s.Known {
		s.Gone = int(m.stock.base+m.entered) - len(m.inside.users)
	}
	return s
}
