package queuetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

// model is the simplest form of a room: a slice of the waiting users, a map of
// those inside. It follows a store's answers and says which of them are wrong.
type model struct {
	r     driver.Rules
	epoch uint64
	begun time.Time     // of the epoch, by its first answer
	late  time.Duration // how long before that it may have begun, on a busy machine

	line      []waiter // by order
	back      []waiter // the returners, by order
	kept      map[int64]bool
	shares    shares
	turns     map[string]*turnOf
	inside    map[string]*guest
	missed    map[string]missedTurn
	used      map[int64]bool
	top       int64     // the highest order of the epoch
	cleared   bool      // the epoch began by Clear
	lost      time.Time // when a process last heard of the room before it was lost
	threshold int
	paused    bool
	settled   time.Time

	tickEnds time.Time
	inTick   int
	swept    time.Time

	joined, entered, noShows, expired, departed, removed, returned int64
}

type waiter struct {
	user  string
	order int64
	heard time.Time
	laned bool
}

// turnOf is that of an entitled user.
type turnOf struct {
	order  int64
	last   time.Time // when it came, or the user was heard of
	silent bool
	heard  bool
	of     class
}

type guest struct {
	order int64
	ends  time.Time
}

type missedTurn struct {
	order int64
	until time.Time
}

// errTooClose ends a walk: the outcome depends on less time than two clocks can
// tell apart.
var errTooClose = errors.New("too close to call")

// near is the difference of clocks that round; soon is the longest time between two
// calls of a step.
const near, soon = 5 * time.Millisecond, 400 * time.Millisecond

func newModel(r driver.Rules) *model {
	m := &model{r: r, threshold: r.Threshold}
	m.empty()
	return m
}

// empty is the state at the beginning of an epoch.
func (m *model) empty() {
	m.line, m.back, m.kept, m.shares = nil, nil, map[int64]bool{}, shares{sinceReturner: 4}
	m.turns, m.inside, m.missed, m.used = map[string]*turnOf{}, map[string]*guest{}, map[string]missedTurn{}, map[int64]bool{}
	m.settled, m.tickEnds, m.swept, m.inTick = time.Time{}, time.Time{}, time.Time{}, 0
	m.cleared, m.lost = false, time.Time{}
	m.joined, m.entered, m.noShows, m.expired, m.departed, m.removed, m.returned = 0, 0, 0, 0, 0, 0, 0
}

// heard follows what a process says of the epochs that it knows.
func (m *model) heard(b driver.Beats, now time.Time) {
	for _, h := range b.Heard {
		if h.Epoch != 0 && h.Epoch != m.epoch && h.At.After(m.begun.Add(-driver.Lapse)) && now.Before(m.begun.Add(m.r.Settle)) && h.At.After(m.lost) {
			m.lost = h.At
			if !m.cleared {
				m.settled = m.begun.Add(m.r.Settle)
			}
		}
	}
}

// counts says whether a ticket counts, which no walk makes too close to call.
func (m *model) counts(v driver.Visit, now time.Time) bool {
	if v.Epoch == 0 || v.Epoch == m.epoch || m.cleared || !now.Before(m.begun.Add(m.r.Settle)) {
		return false
	}
	since := m.begun
	if !m.lost.IsZero() {
		since = m.lost
	}
	if late := since.Sub(v.Until); late.Abs() < near || late > 0 && late < near+m.late {
		steps.Do(errTooClose)
	}
	return v.Until.After(since)
}

func (m *model) at(user string) int {
	return slices.IndexFunc(m.line, func(w waiter) bool { return w.user == user })
}

// before is how many takers and how many silent users have a lower rank.
func (m *model) before(rank int64) (takers, silent int) {
	for _, t := range m.turns {
		switch {
		case t.rank() >= rank:
		case t.silent:
			silent++
		default:
			takers++
		}
	}
	return takers, silent
}

// all is a rank above those of all users.
const all = 1 << 60

// pass advances the time, which ends stays and turns.
func (m *model) pass(now time.Time) {
	for user, g := range m.inside {
		if g.ends.Sub(now).Abs() < near {
			steps.Do(errTooClose)
		}
		if g.ends.After(now) {
			continue
		}
		delete(m.inside, user)
		m.expired++
	}
	for user, t := range m.turns {
		silent, ends := t.last.Add(m.r.Turn), t.last.Add(m.r.NoShow)
		if silent.Sub(now).Abs() < near || ends.Sub(now).Abs() < near {
			steps.Do(errTooClose)
		}
		t.silent = !t.heard && silent.Before(now)
		if ends.Before(now) {
			delete(m.turns, user)
			m.noShows++
			if t.of == returning {
				continue
			}
			m.kept[t.order] = true
			m.missed[user] = missedTurn{t.order, t.last.Add(m.r.Seen)}
		}
	}
	for user, t := range m.missed {
		if t.until.Sub(now).Abs() < near {
			steps.Do(errTooClose)
		}
		if t.until.Before(now) {
			delete(m.missed, user)
		}
	}
	if m.settled.Sub(now).Abs() < near+m.late || m.begun.Add(m.r.Settle).Sub(now).Abs() < soon+m.late {
		steps.Do(errTooClose)
	}
}

func (m *model) open(now time.Time) int {
	if m.paused || now.Before(m.settled) {
		return 0
	}
	return max(0, m.threshold-len(m.inside))
}

// visited follows the answer to one visit.
func (m *model) visited(v driver.Visit, o driver.Outcome, s driver.State) {
	want := m.expect(v, o, s)
	if o.Status == want.Status && o.Status == driver.Active && (o.Left-want.Left).Abs() < near {
		want.Left = o.Left
	}
	if o != want {
		steps.Fail("it is answered %+v, want %+v", o, want)
	}
}

func (m *model) expect(v driver.Visit, o driver.Outcome, s driver.State) driver.Outcome {
	if g := m.inside[v.User]; g != nil {
		switch {
		case v.Kind == driver.Leave || v.Kind == driver.Done:
			delete(m.inside, v.User)
			m.departed++
			return driver.Outcome{New: true}
		case v.Kind == driver.Verify && v.Entry != g.order:
			return driver.Outcome{}
		}
		return driver.Outcome{Status: driver.Active, Order: g.order, Left: g.ends.Sub(s.Now)}
	}
	if v.Kind == driver.Leave {
		return m.leave(v.User)
	}
	if t := m.turns[v.User]; t != nil {
		return m.turn(t, v, s)
	}
	if i := m.at(v.User); i >= 0 {
		m.line[i].heard = s.Now
		return driver.Outcome{Status: driver.Waiting, Order: m.line[i].order, Ahead: m.called(lined) + i}
	}
	if i := m.among(v.User); i >= 0 {
		m.back[i].heard = s.Now
		return driver.Outcome{Status: driver.Waiting, Order: m.back[i].order, Ahead: m.called(returning) + i, Returner: true}
	}
	if v.Kind == driver.Check {
		return m.arrive(v, o, s)
	}
	return driver.Outcome{}
}

// leave follows a Leave of a user that is not inside.
func (m *model) leave(user string) driver.Outcome {
	if !m.waits(user) {
		delete(m.kept, m.missed[user].order)
		delete(m.missed, user)
		return driver.Outcome{}
	}
	gone := func(w waiter) bool { return w.user == user }
	delete(m.turns, user)
	m.line, m.back = slices.DeleteFunc(m.line, gone), slices.DeleteFunc(m.back, gone)
	m.departed++
	return driver.Outcome{New: true}
}

// turn follows the visit of an entitled user.
func (m *model) turn(t *turnOf, v driver.Visit, s driver.State) driver.Outcome {
	takers, silent := m.before(t.rank())
	if v.Kind == driver.Check || v.Kind == driver.Heartbeat {
		if m.open(s.Now) > takers {
			delete(m.turns, v.User)
			return m.enter(v.User, t.order, s.Now)
		}
		t.last, t.heard, t.silent = s.Now, true, false
	}
	return driver.Outcome{Status: driver.Waiting, Order: t.order, Ahead: takers + silent - m.uncounted(t), Turn: true, Returner: t.of == returning}
}

func (m *model) enter(user string, order int64, now time.Time) driver.Outcome {
	m.entered++
	m.inside[user] = &guest{order: order, ends: now.Add(m.r.Active)}
	return driver.Outcome{Status: driver.Active, Order: order, Left: m.r.Active, New: true, Entered: true}
}

// arrive follows a Check of a user outside the room.
func (m *model) arrive(v driver.Visit, o driver.Outcome, s driver.State) driver.Outcome {
	order := int64(0)
	if kept := m.comesBack(v, s.Now); kept > 0 {
		return m.returns(v.User, kept, s.Now)
	}
	if m.counts(v, s.Now) {
		if s.Settling <= 0 {
			steps.Fail("a ticket comes to a young room, which does not settle")
		}
		m.settled = s.Now.Add(s.Settling)
		if !m.used[v.Order] {
			order = v.Order
		}
	}
	if order == 0 {
		if order = o.Order; order <= m.top {
			steps.Fail("the end of the line has order %d, and order %d was given out", order, m.top)
		}
	}
	m.used[order] = true
	m.top = max(m.top, order)
	m.joined++
	if takers, _ := m.before(all); len(m.line)+len(m.back) == 0 && m.open(s.Now) > takers {
		return m.enter(v.User, order, s.Now)
	}
	i, _ := slices.BinarySearchFunc(m.line, order, func(w waiter, order int64) int { return int(w.order - order) })
	m.line = slices.Insert(m.line, i, waiter{v.User, order, s.Now, v.Lane != ""})
	return driver.Outcome{Status: driver.Waiting, Order: order, Ahead: m.called(lined) + i, New: true}
}

// admitted follows an admission.
func (m *model) admitted(a driver.Admission) {
	if ends := a.Now.Add(a.Next); ends.Sub(m.tickEnds).Abs() > near {
		if a.Now.Before(m.tickEnds.Add(-near)) {
			steps.Fail("a tick was to end at %s, and at %s another one ends at %s", m.tickEnds, a.Now, ends)
		}
		m.tickEnds, m.inTick = ends, 0
	}
	may := func() int {
		takers, silent := m.before(all)
		free := m.open(a.Now) - takers
		if free <= 0 {
			return 0
		}
		return max(0, min(free+silent, m.r.Batch-m.inTick, len(m.line)+len(m.back)))
	}
	want := may()
	if len(a.Admitted) != want {
		steps.Fail("%d turns come, want %d: %d wait, %d are entitled, %d of %d are inside, %d turns came in this tick",
			len(a.Admitted), want, len(m.line), len(m.turns), len(m.inside), m.threshold, m.inTick)
	}
	for i, one := range a.Admitted {
		steps.Within(fmt.Sprintf("admission %d", i), func() {
			m.turns[one.User] = &turnOf{order: one.Order, last: a.Now, of: m.turnComes(one)}
		})
	}
	m.inTick += want
	if a.More != (may() > 0) {
		steps.Fail("after an admission of %d there are more: %t", want, a.More)
	}
	if counted(a.Stays) != len(m.inside) {
		steps.Fail("%d are inside, and the stays are %+v", len(m.inside), a.Stays)
	}
	s := a.State
	if s.Joined != m.joined || s.Entered != m.entered || s.NoShows != m.noShows || s.Expired != m.expired || s.Departed != m.departed || s.Swept != m.removed || s.Returned != m.returned {
		steps.Fail("%d joined, %d entered, %d did not show up, %d expired, %d departed, %d were swept, %d returned; and the room is %+v",
			m.joined, m.entered, m.noShows, m.expired, m.departed, m.removed, m.returned, s)
	}
}

// stays follows a sweep: these orders wait after it.
func (m *model) stays(now time.Time, orders []int64, removed int, guarded bool) {
	gone := 0
	var stay []waiter
	for _, w := range m.line {
		_, here := slices.BinarySearch(orders, w.order)
		silent := now.Sub(w.heard)
		switch {
		case here && !guarded && silent > m.r.Seen+precision:
			steps.Fail("%s was silent for %s, and is left in the line", w.user, silent)
		case !here && (guarded || silent < m.r.Seen-near):
			steps.Fail("%s was heard of %s ago, and is removed; too soon for a sweep: %t", w.user, silent, guarded)
		case here:
			stay = append(stay, w)
		default:
			m.kept[w.order] = true
			gone++
		}
	}
	gone += m.returnersStay(now, guarded)
	if gone != removed {
		steps.Fail("%d are gone, and %d were removed", gone, removed)
	}
	m.line = stay
	m.removed += int64(gone)
}

// state compares the state of the room.
func (m *model) state(s driver.State) {
	settling := max(0, m.settled.Sub(s.Now))
	early := settling - s.Settling
	_, silent := m.before(behind)
	if s.Epoch != m.epoch || s.Waiting != len(m.line)+len(m.back)+len(m.turns) || s.Laned != m.called(laned) || s.Returning != len(m.back)+m.called(returning) || s.Active != len(m.inside) || s.Entitled != m.called(lined) || s.Silent != silent ||
		s.Threshold != m.threshold || s.Paused != m.paused || s.Gated || early > near+m.late || early < -near {
		steps.Fail("the room is %+v; want epoch %d, %d in line, %d returners, %d inside, %d entitled, %d silent, threshold %d, paused %t, settling %s",
			s, m.epoch, len(m.line), len(m.back), len(m.inside), len(m.turns), silent, m.threshold, m.paused, settling)
	}
}

func (m *model) orders() []int64 {
	var all []int64
	for _, w := range m.line {
		all = append(all, w.order)
	}
	return all
}
