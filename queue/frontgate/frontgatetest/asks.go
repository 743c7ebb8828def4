package frontgatetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

func askCases() []testCase {
	return []testCase{
		{Name: "bad-asks", Run: opened(badAsks)},
		{Name: "ended-context", Run: opened(endedContext)},
	}
}

func badAsks(p player) {
	before := p.state()
	refuse := func(what string, err error) {
		if !errors.Is(err, driver.ErrInvalid) || fault.Of(err) != fault.Permanent {
			steps.Fail("%s: %v, want ErrInvalid, permanent", what, err)
		}
	}
	for _, n := range []int{-1, 0, driver.MaxAssign + 1} {
		_, err := p.h.Store.Assign(p.ctx, p.event, n)
		refuse(fmt.Sprintf("%d positions", n), err)
	}
	for _, a := range []struct {
		by    int64
		every time.Duration
	}{{0, every}, {-1, every}, {driver.MaxAdvance + 1, every}, {1, -1}, {1, time.Microsecond}, {1, 2 * driver.Kept}} {
		_, err := p.h.Store.Advance(p.ctx, p.event, a.by, a.every)
		refuse(fmt.Sprintf("a round of %d every %s", a.by, a.every), err)
	}
	for _, asks := range [][]driver.Ask{nil, make([]driver.Ask, driver.MaxAssign+1), {{}}, {{Position: 1}}, {{Member: "ann", Position: -1}}, {{Member: strings.Repeat("a", driver.MaxMember+1)}}} {
		_, err := p.h.Store.Keep(p.ctx, p.event, before.Epoch, asks)
		refuse(fmt.Sprintf("%d positions to keep", len(asks)), err)
	}
	_, err := p.h.Store.Keep(p.ctx, p.event, 0, []driver.Ask{{Member: "ann"}})
	refuse("positions of no epoch", err)
	for _, event := range []string{"", "a b", "{a}", "a}", "a\n", "\xff", strings.Repeat("a", driver.MaxEvent+1)} {
		for _, call := range calls(p.ctx, p.h.Store, event) {
			refuse(fmt.Sprintf("%s of the event %q", call.name, event), call.err)
		}
	}
	p.shows("after asks that cannot be", before)
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

func endedContext(p player) {
	before := p.state()
	ended, end := context.WithCancel(p.ctx)
	end()
	all := calls(ended, p.h.Store, p.event)
	_, err := p.h.Store.Events(ended)
	for _, call := range append(all, call{"events", err}) {
		if !errors.Is(call.err, context.Canceled) {
			steps.Fail("%s with an ended context: %v", call.name, call.err)
		}
	}
	p.shows("after calls with an ended context", before)
}
