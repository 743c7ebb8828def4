package memqueue

import (
	"container/heap"
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

// turns holds the entitled users: their turn has come, and they have no place yet.
type turns struct {
	users map[string]*turn
	due   byTime[*turn]
	// Sorted ranks. A taker has been heard of, or its turn came just now.
	takers, silent []int64
	laned          []int64 // sorted orders of the users whose turn came in a lane
	returning      int     // users that are returners
}

// class says how a turn came: in the line, in a lane, or among the returners.
type class int64

const (
	lined class = iota
	laned
	returning
)

// behind is added to the order of a returner, which takes a place after all others.
const behind = 1 << 54

// turn is that of a user.
type turn struct {
	user   string
	order  int64
	of     class
	last   int64 // when the turn came, or the user was heard of
	due    int64 // when a taker becomes silent, or the turn ends
	silent bool
	index  int // in due
}

func (t *turn) when() int64     { return t.due }
func (t *turn) moved(index int) { t.index = index }

// rank is the order in which users take places.
func (t *turn) rank() int64 {
	if t.of == returning {
		return t.order + behind
	}
	return t.order
}

func newTurns() turns { return turns{users: map[string]*turn{}} }

func (ts *turns) add(t *turn) {
	ts.users[t.user] = t
	ts.count(t)
	switch t.of {
	case laned:
		ts.laned = slices.Insert(ts.laned, below(ts.laned, t.order), t.order)
	case returning:
		ts.returning++
	}
	heap.Push(&ts.due, t)
}

func (ts *turns) remove(t *turn) {
	delete(ts.users, t.user)
	ts.uncount(t)
	switch t.of {
	case laned:
		i := below(ts.laned, t.order)
		ts.laned = slices.Delete(ts.laned, i, i+1)
	case returning:
		ts.returning--
	}
	heap.Remove(&ts.due, t.index)
}

// orders are those of the takers, or of the silent.
func (ts *turns) orders(silent bool) *[]int64 {
	if silent {
		return &ts.silent
	}
	return &ts.takers
}

func (ts *turns) count(t *turn) {
	of := ts.orders(t.silent)
	*of = slices.Insert(*of, below(*of, t.rank()), t.rank())
}

func (ts *turns) uncount(t *turn) {
	of := ts.orders(t.silent)
	i := below(*of, t.rank())
	*of = slices.Delete(*of, i, i+1)
}

// below is how many orders are lower than order.
func below(orders []int64, order int64) int {
	i, _ := slices.BinarySearch(orders, order)
	return i
}

// set makes the user a taker or silent, and the turn due then.
func (ts *turns) set(t *turn, silent bool, due int64) {
	if t.silent != silent {
		ts.uncount(t)
		t.silent = silent
		ts.count(t)
	}
	t.due = due
	heap.Fix(&ts.due, t.index)
}

// ahead is how many entitled users are before all users that wait in the line.
func (ts *turns) ahead() int { return len(ts.users) - len(ts.laned) - ts.returning }

// begin gives the turn to a user.
func (m *room) begin(one driver.Admitted, of class, now int64, r driver.Rules) {
	due := now + r.NoShow.Microseconds()
	if r.Turn > 0 {
		due = min(due, now+r.Turn.Microseconds())
	}
	m.turns.add(&turn{user: one.User, order: one.Order, of: of, last: now, due: due})
}

// lapse does what is due: users become silent, and turns end. A no-show that comes
// back without a ticket is known for as long as others may be silent.
func (m *room) lapse(now int64, r driver.Rules) {
	for len(m.turns.due) > 0 && m.turns.due[0].due <= now {
		t := m.turns.due[0]
		ends := t.last + r.NoShow.Microseconds()
		if ends > now {
			m.turns.set(t, true, ends)
			continue
		}
		m.turns.remove(t)
		m.noShows++
		if t.of == returning {
			continue
		}
		m.keep(t.order, r, now)
		if until := t.last + r.Seen.Microseconds(); until > now {
			m.inside.miss(&missed{user: t.user, order: t.order, until: until})
		}
	}
}

// visitTurn serves an entitled user: a poll takes a free place that no taker before
// this user has a right to.
func (m *room) visitTurn(t *turn, v driver.Visit, now int64, r driver.Rules) driver.Outcome {
	before := below(m.turns.takers, t.rank())
	if v.Kind != driver.Done {
		if m.open(now, r) > before {
			m.turns.remove(t)
			m.rate.add(now, 1)
			m.stays.came++
			return m.enter(t.user, t.order, now, r)
		}
		t.last = now
		m.turns.set(t, false, now+r.NoShow.Microseconds())
	}
	ahead := before + below(m.turns.silent, t.rank())
	if t.of == returning { // of these alone
		ahead -= below(m.turns.takers, behind) + below(m.turns.silent, behind)
	} else {
		ahead -= below(m.turns.laned, t.order)
	}
	return driver.Outcome{Status: driver.Waiting, Order: t.order, Ahead: ahead, Turn: true, Returner: t.of == returning}
}
