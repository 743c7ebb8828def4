package queuetest

import (
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func (w *walker) admission() {
	a := steps.Get(w.store.Admit(w.ctx, w.event, w.r))
	w.m.pass(a.Now)
	w.m.admitted(a)
	w.m.state(a.State)
}

func (w *walker) sweeping() {
	before := w.state()
	age := before.Now.Sub(w.m.swept)
	if (age - w.r.SweepEvery).Abs() < soon {
		steps.Do(errTooClose)
	}
	guarded := age < w.r.SweepEvery
	removed := w.sweep()
	if !guarded {
		w.m.swept = before.Now
	}
	var s snapshot
	state := s.refresh(w.player)
	w.m.pass(state.Now)
	w.m.stays(state.Now, s.orders(), removed, guarded)
	s.shows(w.player, w.m.orders())
	w.m.state(state)
}

func (w *walker) look(one *process) {
	one.seen.shows(w.player, w.m.orders())
	if one.seen.epoch != w.m.epoch {
		steps.Fail("it sees epoch %d, want %d", one.seen.epoch, w.m.epoch)
	}
}

func (w *walker) operate() {
	if w.src.IntN(3) == 0 {
		on := w.src.IntN(3) == 0
		w.m.paused = on
		w.changed(driver.Change{Paused: &on})
		return
	}
	n := w.src.IntN(7)
	w.m.threshold = n
	w.changed(driver.Change{Threshold: &n})
}

func (w *walker) changed(c driver.Change) {
	s := w.change(c)
	w.m.pass(s.Now)
	w.m.state(s)
}

// upset does one of the rare steps: the state is lost, the room is cleared, or the
// processes' clocks go wrong.
func (w *walker) upset() {
	switch n := w.src.IntN(4); {
	case n < 2 && w.h.Lose != nil:
		w.h.Advance(time.Second)
		lost := w.state().Now
		w.lose()
		w.m.empty()
		w.m.threshold, w.m.paused, w.m.top = w.r.Threshold, false, 0
		w.begin()
		w.m.late = w.m.begun.Sub(lost)
	case n == 2:
		s := w.change(driver.Change{Clear: true})
		if s.Epoch == w.m.epoch {
			steps.Fail("epoch %d stays after clearing", s.Epoch)
		}
		w.m.empty()
		w.m.epoch, w.m.begun, w.m.late, w.m.cleared = s.Epoch, s.Now, 0, true
		w.m.state(s)
	case w.h.Skew != nil:
		w.h.Skew(time.Duration(w.src.IntN(101)-50) * time.Second)
	}
}
