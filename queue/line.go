package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/batch"
	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/queue/driver"
)

// line is a process's state of an event. All of it can be asked for again.
type line struct {
	room   *Room
	event  string
	visits *batch.Combiner[driver.Visit, answer]

	snap       atomic.Pointer[snapshot]
	due        atomic.Int64 // on the room's clock: when the snapshot is to be refreshed
	refreshing sync.Mutex   // held by the goroutine that refreshes
	failing    atomic.Bool  // whether the last refresh failed

	pause   atomic.Int64 // on the room's clock: until when the store is not asked
	used    atomic.Int64 // on the room's clock: the last use, to about a second
	asked   atomic.Int64 // on the room's clock: until when the settings are not asked for
	state   atomic.Pointer[State]
	learned atomic.Int64 // on the room's clock: when the store answered last

	asking  chan struct{} // of one: held by the goroutine that asks for the settings
	begun   atomic.Bool   // whether the room was opened for the visits of this process
	unset   atomic.Bool   // whether they could not be asked for the last time
	setting atomic.Pointer[knownSetting]

	asksStock atomic.Bool  // whether a call of Config.Stock is in flight
	unstocked atomic.Int64 // on the room's clock: since when it has not answered; 0 if it has

	forecast    atomic.Pointer[forecast]
	forecasting sync.Mutex // held by the goroutine that makes the next

	beats  beats
	told   told
	past   atomic.Pointer[driver.Heard] // the last epoch before the present one
	top    atomic.Int64                 // the highest order seen
	record record
}

// answer is an outcome with the state of the room after it.
type answer struct {
	driver.Outcome
	state *State
}

// pauseAfterFailure is how long a store that failed gets no calls for an event:
// during the pause callers are refused at once, instead of queueing for one
// timeout after another.
const pauseAfterFailure = 250 * time.Millisecond

func newLine(r *Room, event string) *line {
	l := &line{room: r, event: strings.Clone(event)} // an event id may be part of a large request
	l.beats.calls, l.asking = make(chan struct{}, maxSending), make(chan struct{}, 1)
	// A crowd's next call is in flight while the store handles the one before.
	l.visits = batch.New(driver.MaxVisits, r.cfg.Timeout, l.call).Overlap(2, 24)
	return l
}

// touch records a use, at most once a second: concurrent uses need no write each.
func (l *line) touch(now time.Duration) {
	if last := l.used.Load(); int64(now)-last >= int64(time.Second) {
		l.used.Store(int64(now))
	}
}

func (l *line) pausing() bool { return int64(l.room.now()) < l.pause.Load() }

// call makes a call of the store for visits and the pending beats.
func (l *line) call(ctx context.Context, visits []driver.Visit) ([]answer, error) {
	if l.pausing() {
		return nil, errPause
	}
	taken := l.beats.take()
	taken.Heard, taken.Highest = l.heard(), l.top.Load()
	if len(visits) == 0 && len(taken.Orders) == 0 {
		return nil, nil
	}
	var seen driver.Visited
	err := l.ask(func() (err error) {
		seen, err = l.room.store.Visit(ctx, l.event, l.room.rules, taken, visits)
		if err == nil && len(seen.Outcomes) != len(visits) {
			err = fmt.Errorf("%d outcomes of %d visits", len(seen.Outcomes), len(visits))
		}
		return err
	})
	if err != nil {
		l.unheard(taken)
		return nil, err
	}
	l.room.counts.beats.Add(int64(len(taken.Orders)))
	l.learn(seen.State)
	answers := make([]answer, len(visits))
	for i, outcome := range seen.Outcomes {
		answers[i] = answer{Outcome: outcome, state: &seen.State}
		l.saw(outcome.Order)
		if outcome.Entered {
			l.room.notifyAdmitted(l.event, visits[i].User, outcome.Order, seen.State)
		}
	}
	return answers, nil
}

// ask makes a call of the store and counts it. After a failure that may pass, the
// store gets no calls for a while. A panic of the store is a failure as well.
func (l *line) ask(call func() error) (err error) {
	l.room.counts.calls.Add(1)
	defer func() {
		if p := recover(); p != nil {
			l.room.counts.panics.Add(1)
			err = fmt.Errorf("the store panicked: %v", p)
		}
		if err == nil {
			l.pause.Store(0)
			return
		}
		l.room.counts.failed.Add(1)
		if fault.Of(err) != fault.Permanent && !errors.Is(err, context.Canceled) {
			l.pause.Store(int64(l.room.now() + pauseAfterFailure))
		}
	}()
	return call()
}

// askFor makes a call of the store that has an answer. It does not end when the caller leaves.
func askFor[T any](ctx context.Context, l *line, call func(context.Context) (T, error)) (answer T, err error) {
	ctx, cancel := l.room.bounded(ctx)
	defer cancel()
	err = l.ask(func() (err error) {
		answer, err = call(ctx)
		return err
	})
	return answer, err
}

// learn keeps the state for the metrics, and the end of the epoch before. It makes a
// snapshot of a lost epoch due for a refresh.
func (l *line) learn(state State) {
	l.learned.Store(int64(l.room.now()))
	old := l.state.Load()
	if state.Closed && state.Challenge == nil && old != nil {
		state.Challenge = old.Challenge // until the settings are known again
	}
	if old == nil || old.Epoch != state.Epoch || !old.Now.After(state.Now) {
		l.state.Store(&state)
	}
	if state.Waiting > 0 && (old == nil || old.Waiting == 0) {
		select {
		case l.room.begun <- l.event:
		default: // the admitter comes within idlePace
		}
	}
	switch {
	case old == nil:
	case old.Epoch != state.Epoch:
		l.past.Store(&driver.Heard{Epoch: old.Epoch, At: old.Now})
	case old.Servers > 0 && state.Servers > old.Servers:
		l.room.cfg.Logger.Warn("queue: another server keeps the room, or the same one after a restart; the arrival numbers leap, and users of lost writes line up by their tickets",
			slog.String("event", l.event), slog.Int64("servers", state.Servers))
	}
	if s := l.snap.Load(); s != nil && s.state.Epoch != state.Epoch {
		l.due.Store(0)
	}
}

// once makes a visit, in a call of the store with those of others.
func (l *line) once(ctx context.Context, v driver.Visit) (answer, error) {
	a, err := l.visits.Do(ctx, v)
	if err != nil {
		l.room.counts.refused.Add(1)
		return answer{}, refused(ctx, err)
	}
	l.room.counts.store.Add(1)
	return a, nil
}

// visit asks the store where a visitor stands.
func (l *line) visit(ctx context.Context, v driver.Visit, ticket string) (Place, error) {
	l.begin(ctx)
	a, err := l.once(ctx, v)
	if err != nil {
		return Place{}, err
	}
	l.follow(ctx, a.state)
	place := l.place(a.Outcome, a.state, 0, l.room.now())
	if place.Status == Waiting && !a.New && !a.Returner {
		l.tell(a)
	}
	place.Ticket = l.ticket(v, a, ticket)
	return place, nil
}

// saw keeps the highest order.
func (l *line) saw(order int64) {
	for {
		top := l.top.Load()
		if order <= top || l.top.CompareAndSwap(top, order) {
			return
		}
	}
}

// heard is when this process last heard of the present epoch and of the one before.
func (l *line) heard() (h [2]driver.Heard) {
	if s := l.state.Load(); s != nil {
		h[0] = driver.Heard{Epoch: s.Epoch, At: s.Now}
	}
	if past := l.past.Load(); past != nil {
		h[1] = *past
	}
	return h
}

// ticket is the ticket for the visitor to bring along, perhaps the one it brought.
func (l *line) ticket(v driver.Visit, a answer, brought string) string {
	known := brought != "" && v.Epoch == a.state.Epoch
	switch {
	case a.Status == None:
		// Only a Check lines up by the old ticket after a loss, or by that of a kept place.
		return brought
	case a.Status != Waiting && a.Status != Active:
		return ""
	case !known || v.Order != a.Order:
		v.Epoch, v.Order, v.Until = a.state.Epoch, a.Order, time.Time{}
	}
	position := 0
	if a.Status == Waiting && !a.Turn {
		position = a.Ahead + 1
		if a.Returner {
			position *= turnsEach
		}
	}
	if early(a.state) {
		position = a.state.Waiting
	}
	return l.renewed(v, position, a.state.Now, brought)
}

// A ticket outlives a loss that comes within two polls of its owner and lasting
// after it was sealed; it is renewed when it is half of that old. A hidden tab
// polls once a minute, so each of its polls renews its ticket for the next.
const (
	lasting    = time.Minute
	renewAfter = lasting / 2
)

// renewed is the ticket of a user who has the place of v at this moment of the
// store's clock: the one that was brought, or one with a later Until.
func (l *line) renewed(v driver.Visit, position int, now time.Time, brought string) string {
	polls := now.Add(2 * nextPoll(l.room.cfg.Intervals, position, 1))
	if v.Until.After(polls.Add(renewAfter)) {
		return brought
	}
	return l.room.tickets.Seal(seal.Ticket{Event: l.event, User: v.User, Epoch: v.Epoch, Order: v.Order, Until: polls.Add(lasting)})
}

// tell remembers an answer of the store that is better than the snapshot's.
func (l *line) tell(a answer) {
	if s := l.snap.Load(); s != nil {
		ahead, found := s.find(a.Order)
		if s.state.Epoch != a.state.Epoch || found == nil || ahead+s.state.Entitled <= a.Ahead {
			return
		}
	}
	l.told.remember(a.Order, sight{epoch: a.state.Epoch, ahead: a.Ahead, at: a.state.Now})
}

// stand is the place of an order by the snapshot; false when the order does not
// wait there, or there is no snapshot.
func (l *line) stand(ctx context.Context, s *snapshot, now time.Duration, epoch uint64, order int64) (Place, bool) {
	if s == nil || s.state.Epoch != epoch {
		return Place{}, false
	}
	ahead, b := s.find(order)
	if b == nil {
		return Place{}, false
	}
	age := now - s.at
	l.heardOf(ctx, s, b, order, s.state.Now.Add(age).Unix()/60)
	l.room.counts.snapshot.Add(1)
	ahead += s.state.Entitled // who are before all users of the snapshot's blocks
	return l.place(driver.Outcome{Status: Waiting, Order: order, Ahead: l.told.ahead(order, ahead, s)}, &s.state, age, now), true
}
