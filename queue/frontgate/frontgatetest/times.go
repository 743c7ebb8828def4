package frontgatetest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

func timeCases() []testCase {
	return []testCase{
		{Name: "shows-its-clock", Run: showsItsClock},
		{Name: "lost-counters", Run: lostCounters},
		{Name: "kept-while-on", Run: keptWhileOn},
		{Name: "kept-after-off", Needs: []conformance.Need{NeedExpiry}, Run: keptAfterOff},
	}
}

func showsItsClock(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	before, err := p.state()
	if err != nil {
		return err
	}
	for i, ask := range []func() (driver.State, error){
		p.state,
		p.peer().state,
		func() (driver.State, error) { return h.Store.Assign(ctx, p.event, 1) },
		func() (driver.State, error) { return p.turn(true) },
		func() (driver.State, error) {
			r, err := h.Store.Advance(ctx, p.event, 1, every)
			return r.State, err
		},
	} {
		h.Move(time.Hour)
		now, err := ask()
		if err != nil {
			return err
		}
		if passed := now.Now.Sub(before.Now); passed != time.Duration(i+1)*time.Hour {
			return fmt.Errorf("%d hours later the store's clock shows %s more", i+1, passed)
		}
	}
	if began := time.UnixMicro(int64(before.Epoch)); !began.Equal(before.Now) {
		return fmt.Errorf("the epoch is %s, and the counters began at %s", began, before.Now)
	}
	return nil
}

func lostCounters(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	if err := p.assign(10, 10); err != nil {
		return err
	}
	before, err := p.state()
	if err != nil {
		return err
	}
	h.Move(time.Second)
	if err := h.Lose(ctx); err != nil {
		return fmt.Errorf("lose: %w", err)
	}
	lost, err := p.state()
	if err != nil {
		return err
	}
	if !same(lost, driver.State{}) {
		return fmt.Errorf("after a loss the gate stands at %+v", lost)
	}
	again, err := p.turn(true)
	if err != nil {
		return err
	}
	if again.Epoch == before.Epoch || again.Assigned != 0 || again.Serving != 0 || again.Opened != 0 {
		return fmt.Errorf("switched on after a loss it stands at %+v, and before at %+v", again, before)
	}
	return p.assign(1, 1)
}

func keptWhileOn(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	if err := p.assign(10, 10); err != nil {
		return err
	}
	before, err := p.state()
	if err != nil {
		return err
	}
	h.Move(10 * driver.Kept)
	now, err := p.state()
	if err != nil {
		return err
	}
	if !same(now, before) {
		return fmt.Errorf("a gate that is on stood at %+v, and ten days later at %+v", before, now)
	}
	if err := p.listed(p.event); err != nil {
		return err
	}
	return p.assign(1, 11)
}

func keptAfterOff(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	first, err := p.state()
	if err != nil {
		return err
	}
	return steps(
		func() error { return p.assign(10, 10) },
		func() error { _, err := p.turn(false); return err },
		func() error {
			h.Move(driver.Kept)
			// Keeping too long and not at all are both wrong; a minute is left.
			h.Move(-time.Minute)
			s, err := p.turn(true)
			if err == nil && (s.Epoch != first.Epoch || s.Assigned != 10) {
				err = fmt.Errorf("a minute before its time is over, the gate stands at %+v", s)
			}
			return err
		},
		func() error { _, err := p.turn(false); return err },
		func() error {
			h.Move(driver.Kept + time.Minute)
			s, err := p.state()
			if err == nil && !same(s, driver.State{}) {
				err = fmt.Errorf("a minute after its time was over, the gate stands at %+v", s)
			}
			return err
		},
		func() error { return p.listed() },
		func() error {
			s, err := p.turn(true)
			if err == nil && (s.Epoch == first.Epoch || s.Assigned != 0 || s.Serving != 0) {
				err = fmt.Errorf("switched on after its time was over, the gate stands at %+v", s)
			}
			return err
		},
		func() error { return p.assign(1, 1) },
	)
}
