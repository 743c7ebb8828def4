package queuetest

import (
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

// come makes a call of a few visits, mostly checks.
func (w *walker) come(one *process) {
	var all []driver.Visit
	for range 1 + w.src.IntN(4) {
		user := w.users[min(w.src.IntN(len(w.users)), w.src.IntN(len(w.users)))] // some poll seldom
		v := driver.Visit{Kind: driver.Kind([]int{0, 0, 0, 0, 1, 1, 2, 3, 4}[w.src.IntN(9)]), User: user}
		switch g := w.m.inside[user]; v.Kind {
		case driver.Check:
			if t, ok := w.tickets[user]; ok && w.src.IntN(3) > 0 {
				v.Epoch, v.Order, v.Until = t.Epoch, t.Order, t.Until
			}
			if w.src.IntN(4) == 0 {
				v.Lane = w.r.Lanes[0].Name
			}
		case driver.Verify:
			switch {
			case g != nil && w.src.IntN(2) == 0:
				v.Entry = g.order
			case w.m.waits(user):
				v.Kind = driver.Heartbeat // no promise says whether an invalid entry keeps a place in line
			}
		}
		all = append(all, v)
	}
	var b driver.Beats
	if w.src.IntN(3) == 0 {
		b = w.take(one)
	}
	b.Heard, b.Highest = one.heard, one.top
	got := w.visitWith(b, all...)
	w.hear(b, got.Now)
	one.learn(got.State)
	for _, o := range got.Outcomes {
		one.top = max(one.top, o.Order)
	}
	w.follow(all, got)
}

// follow makes the model follow the answers to visits.
func (w *walker) follow(all []driver.Visit, got driver.Visited) {
	w.m.pass(got.Now)
	for i, v := range all {
		o := got.Outcomes[i]
		if w.m.waits(v.User) && (v.Kind == driver.Done || v.Kind == driver.Verify) && (o.Status == driver.None || o.Status == driver.Waiting) && !o.New {
			continue // no promise covers the other fields for a waiting user
		}
		steps.Within(fmt.Sprintf("visit %+v, %d of %d", v, i+1, len(all)), func() { w.m.visited(v, o, got.State) })
		if o.Status == driver.Waiting {
			w.tickets[v.User] = driver.Visit{Epoch: got.Epoch, Order: o.Order, Until: got.Now.Add(62500 * time.Millisecond)}
		}
	}
	w.m.state(got.State)
}

// poll is answered by the process itself: only its beats reach the store.
func (w *walker) poll(one *process) {
	if one.epoch != w.m.epoch {
		one.epoch, one.beats = w.m.epoch, nil
	}
	for _, waits := range w.m.line {
		if w.src.IntN(3) == 0 {
			one.beats = append(one.beats, waits.order)
		}
	}
	one.beats = one.beats[:min(len(one.beats), driver.MaxBeats)]
}

func (w *walker) take(one *process) driver.Beats {
	b := driver.Beats{Epoch: one.epoch, Orders: one.beats}
	one.beats = nil
	return b
}

func (w *walker) flush(one *process) {
	b := w.take(one)
	b.Heard, b.Highest = one.heard, one.top
	got := w.visitWith(b)
	w.hear(b, got.Now)
	one.learn(got.State)
	w.follow(nil, got)
}

func (w *walker) hear(b driver.Beats, now time.Time) {
	w.m.heard(b, now)
	if b.Epoch != w.m.epoch {
		return
	}
	for _, order := range b.Orders {
		for i := range w.m.line {
			if w.m.line[i].order == order {
				w.m.line[i].heard = now
			}
		}
	}
}
