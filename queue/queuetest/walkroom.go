package queuetest

import (
	"fmt"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

func (w *walker) admission() error {
	a, err := w.store.Admit(w.ctx, w.event, w.r)
	if err != nil {
		return err
	}
	if err := w.m.pass(a.Now); err != nil {
		return err
	}
	if err := w.m.admitted(a); err != nil {
		return err
	}
	return w.m.state(a.State)
}

func (w *walker) sweeping() error {
	before, err := w.state()
	if err != nil {
		return err
	}
	age := before.Now.Sub(w.m.swept)
	if (age - w.r.SweepEvery).Abs() < soon {
		return errTooClose
	}
	guarded := age < w.r.SweepEvery
	removed, err := w.sweep()
	if err != nil {
		return err
	}
	if !guarded {
		w.m.swept = before.Now
	}
	var s snapshot
	state, err := s.refresh(w.player)
	if err != nil {
		return err
	}
	if err := w.m.pass(state.Now); err != nil {
		return err
	}
	if err := w.m.stays(state.Now, s.orders(), removed, guarded); err != nil {
		return err
	}
	if err := s.shows(w.player, w.m.orders()); err != nil {
		return err
	}
	return w.m.state(state)
}

func (w *walker) look(one *process) error {
	if err := one.seen.shows(w.player, w.m.orders()); err != nil {
		return err
	}
	if one.seen.epoch != w.m.epoch {
		return fmt.Errorf("it sees epoch %d, want %d", one.seen.epoch, w.m.epoch)
	}
	return nil
}

func (w *walker) operate() error {
	if w.src.IntN(3) == 0 {
		on := w.src.IntN(3) == 0
		w.m.paused = on
		return w.changed(driver.Change{Paused: &on})
	}
	n := w.src.IntN(7)
	w.m.threshold = n
	return w.changed(driver.Change{Threshold: &n})
}

func (w *walker) changed(c driver.Change) error {
	s, err := w.change(c)
	if err != nil {
		return err
	}
	if err := w.m.pass(s.Now); err != nil {
		return err
	}
	return w.m.state(s)
}

// upset does one of the rare steps: the state is lost, the room is cleared, or the
// processes' clocks go wrong.
func (w *walker) upset() error {
	switch n := w.src.IntN(4); {
	case n < 2 && w.h.Lose != nil:
		w.h.Advance(time.Second)
		if err := w.h.Lose(w.ctx); err != nil {
			return err
		}
		w.m.empty()
		w.m.threshold, w.m.paused, w.m.top = w.r.Threshold, false, 0
		return w.begin()
	case n == 2:
		s, err := w.change(driver.Change{Clear: true})
		if err != nil {
			return err
		}
		if s.Epoch == w.m.epoch {
			return fmt.Errorf("epoch %d stays after clearing", s.Epoch)
		}
		w.m.empty()
		w.m.epoch, w.m.begun, w.m.cleared = s.Epoch, s.Now, true
		return w.m.state(s)
	case w.h.Skew != nil:
		w.h.Skew(time.Duration(w.src.IntN(101)-50) * time.Second)
	}
	return nil
}
