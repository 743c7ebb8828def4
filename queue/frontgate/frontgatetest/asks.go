package frontgatetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

func askCases() []testCase {
	return []testCase{
		{Name: "bad-asks", Run: badAsks},
		{Name: "ended-context", Run: endedContext},
	}
}

func badAsks(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	before, err := p.state()
	if err != nil {
		return err
	}
	refuse := func(what string, err error) error {
		if !errors.Is(err, driver.ErrInvalid) || fault.Of(err) != fault.Permanent {
			return fmt.Errorf("%s: %v, want ErrInvalid, permanent", what, err)
		}
		return nil
	}
	for _, n := range []int{-1, 0, driver.MaxAssign + 1} {
		_, err := h.Store.Assign(ctx, p.event, n)
		if err := refuse(fmt.Sprintf("%d positions", n), err); err != nil {
			return err
		}
	}
	for _, a := range []struct {
		by    int64
		every time.Duration
	}{{0, every}, {-1, every}, {driver.MaxAdvance + 1, every}, {1, -1}, {1, time.Microsecond}, {1, 2 * driver.Kept}} {
		_, err := h.Store.Advance(ctx, p.event, a.by, a.every)
		if err := refuse(fmt.Sprintf("a round of %d every %s", a.by, a.every), err); err != nil {
			return err
		}
	}
	for _, asks := range [][]driver.Ask{nil, make([]driver.Ask, driver.MaxAssign+1), {{}}, {{Position: 1}}, {{Member: "ann", Position: -1}}, {{Member: strings.Repeat("a", driver.MaxMember+1)}}} {
		_, err := h.Store.Keep(ctx, p.event, before.Epoch, asks)
		if err := refuse(fmt.Sprintf("%d positions to keep", len(asks)), err); err != nil {
			return err
		}
	}
	_, err = h.Store.Keep(ctx, p.event, 0, []driver.Ask{{Member: "ann"}})
	if err := refuse("positions of no epoch", err); err != nil {
		return err
	}
	for _, event := range []string{"", "a b", "{a}", "a}", "a\n", "\xff", strings.Repeat("a", driver.MaxEvent+1)} {
		for _, call := range calls(ctx, h.Store, event) {
			if err := refuse(fmt.Sprintf("%s of the event %q", call.name, event), call.err); err != nil {
				return err
			}
		}
	}
	return p.expect("after asks that cannot be", before, func(driver.State) bool { return true })
}

type call struct {
	name string
	err  error
}

// calls makes each call that is for an event.
func calls(ctx context.Context, s driver.Store, event string) []call {
	_, assign := s.Assign(ctx, event, 1)
	_, state := s.State(ctx, event)
	_, keep := s.Keep(ctx, event, 1, []driver.Ask{{Member: "ann"}})
	_, advance := s.Advance(ctx, event, 1, every)
	_, on := s.Switch(ctx, event, true)
	_, off := s.Switch(ctx, event, false)
	return []call{{"assign", assign}, {"state", state}, {"keep", keep}, {"advance", advance}, {"switch on", on}, {"switch off", off}}
}

func endedContext(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	before, err := p.state()
	if err != nil {
		return err
	}
	ended, end := context.WithCancel(ctx)
	end()
	all := calls(ended, h.Store, p.event)
	_, err = h.Store.Events(ended)
	for _, call := range append(all, call{"events", err}) {
		if !errors.Is(call.err, context.Canceled) {
			return fmt.Errorf("%s with an ended context: %v", call.name, call.err)
		}
	}
	return p.expect("after calls with an ended context", before, func(driver.State) bool { return true })
}
