package redisqueue

import (
	"cmp"
	"context"
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/internal/roomcalls"
)

// Visit serves visits and beats; see [driver.Store]. Many visits take one script for
// each visitMost of them. The event is in the registry before a user can join it.
func (s *store) Visit(ctx context.Context, event string, r driver.Rules, b driver.Beats, visits []driver.Visit) (driver.Visited, error) {
	if err := cmp.Or(checkRules(event, r), roomcalls.CheckVisits(r, b, visits)); err != nil {
		return driver.Visited{}, wrap("visit", event, err)
	}
	joins := slices.ContainsFunc(visits, func(v driver.Visit) bool { return v.Kind == driver.Check })
	if _, known := s.added.due(event); joins && !known {
		if err := s.register(ctx, event); err != nil {
			return driver.Visited{}, s.failed("visit", event, err)
		}
	}
	v, woke, err := s.visit(ctx, event, r, b, visits[:min(len(visits), visitMost)])
	for err == nil && len(v.Outcomes) < len(visits) {
		next := visits[len(v.Outcomes):]
		var more driver.Visited
		var also bool
		more, also, err = s.visit(ctx, event, r, driver.Beats{Heard: b.Heard, Highest: b.Highest}, next[:min(len(next), visitMost)])
		v.State, v.Outcomes, woke = more.State, append(v.Outcomes, more.Outcomes...), woke || also
	}
	if err != nil {
		return driver.Visited{}, s.failed("visit", event, err)
	}
	switch {
	case woke:
		// Another process that found the event unused may have taken it out of the
		// list. It looks again after that, but perhaps before this visit. The
		// visit is done; if the event cannot be added now, the next call adds it.
		if err := s.register(ctx, event); err != nil {
			s.added.forget(event)
		}
	case v.Waiting+v.Active > 0:
		s.again(ctx, event)
	}
	return v, nil
}

func (s *store) visit(ctx context.Context, event string, r driver.Rules, b driver.Beats, visits []driver.Visit) (v driver.Visited, woke bool, err error) {
	beats, orders := beatsArgs(b)
	plain, all := plainArgs(visits)
	if plain == 0 {
		all = [][]byte{visitsArgs(r, visits)}
	}
	a, err := s.runBy(ctx, s.scripts.visit, r, func(now int64) ([]string, [][]byte) {
		this := now / spanOf(r)
		args := rulesArgs(r, 9).doubles(float64(this), float64(b.Epoch), float64(beats), float64(plain)).heard(b.Heard).doubles(float64(b.Highest))
		return s.keysSeen(event, r, this, 2), append([][]byte{args, orders}, all...)
	})
	if err != nil {
		return driver.Visited{}, false, err
	}
	v = driver.Visited{State: a.state, Outcomes: make([]driver.Outcome, len(visits))}
	if plain > 0 && len(a.rest) == double {
		first := a.number()
		for i := range v.Outcomes {
			v.Outcomes[i] = driver.Outcome{Status: driver.Waiting, Order: first + int64(i), Ahead: v.Waiting - v.Laned - v.Returning - plain + i, New: true}
		}
		return v, a.woke, nil
	}
	for i := range v.Outcomes {
		v.Outcomes[i] = a.outcome()
	}
	if a.short || a.rest != "" {
		return driver.Visited{}, false, errShort
	}
	return v, a.woke, nil
}

// again adds an event that this process serves to the registry from time to time,
// as another process may have taken it out while it was empty. If that fails, the
// next call tries again.
func (s *store) again(ctx context.Context, event string) {
	if due, _ := s.added.due(event); due {
		if err := s.register(ctx, event); err != nil {
			s.added.forget(event)
		}
	}
}
