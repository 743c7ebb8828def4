package frontgate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// Run makes the rounds of all gates: it raises their serving counters every
// Config.Every, by as much as lets Config.Step visitors arrive. It also brings the lines behind them in step,
// which repairs the result of a crash in the middle of [Gate.Activate] or
// [Gate.Deactivate]. A gate whose counters the store has lost is switched on again,
// with new counters. Run returns nil when the context ends.
//
// Several processes may call Run: the store lets only one of them make a round. A
// gate that was switched on is found within Config.Every.
func (g *Gate) Run(ctx context.Context) error {
	a := advancer{gate: g, open: map[string]seen{}}
	for ctx.Err() == nil {
		next, err := a.round(ctx)
		if err != nil && ctx.Err() == nil {
			g.cfg.Logger.ErrorContext(ctx, "a round of the front gates failed; it is made again", "error", err)
		}
		select {
		case <-time.After(next):
		case <-ctx.Done():
		}
	}
	return nil
}

// advancer is the state of one Run.
type advancer struct {
	gate *Gate
	open map[string]seen // the gates that are on
}

type seen struct {
	state driver.State
	at    time.Time
	shows shows
}

// round makes a round of each gate that is due, and returns the time until the
// next.
func (a *advancer) round(ctx context.Context) (time.Duration, error) {
	g := a.gate
	events, err := a.events(ctx)
	if err != nil {
		return min(time.Second, g.cfg.Every), refused(ctx, err)
	}
	next := g.cfg.Every
	var failed []error
	for _, event := range events {
		in, err := a.advance(ctx, event)
		if err != nil {
			failed = append(failed, err)
			in = min(time.Second, g.cfg.Every)
		}
		next = min(next, in)
	}
	// Jitter: processes that asked at the same moment would do so again.
	return max(next, time.Millisecond) + time.Duration(rand.Int64N(int64(g.cfg.Every/100)+1)), errors.Join(failed...)
}

// events lists the gates of the store, and those that were on until now.
func (a *advancer) events(ctx context.Context) (events []string, err error) {
	defer caught(&err, "the list of the gates")
	ctx, cancel := context.WithTimeout(ctx, a.gate.cfg.Timeout)
	defer cancel()
	events, err = a.gate.store.Events(ctx)
	for event := range a.open {
		if !slices.Contains(events, event) {
			events = append(events, event)
		}
	}
	return events, err
}

// advance makes a round of a gate, and returns the time until the next one. A panic of the
// store or the line is an error.
func (a *advancer) advance(ctx context.Context, event string) (next time.Duration, err error) {
	defer caught(&err, "a round of the gate of "+event)
	g := a.gate
	ctx, cancel := context.WithTimeout(ctx, 6*g.cfg.Timeout) // a call each of store and line, and the repair
	defer cancel()
	before := a.open[event]
	round, err := g.store.Advance(ctx, event, max(g.cfg.Step, before.shows.by), g.cfg.Every)
	if err != nil {
		return 0, refused(ctx, err)
	}
	state := round.State
	if lost := state.Epoch == 0 && before.state.On; lost {
		if time.Since(before.at) > forgotten(g.cfg.Every) {
			delete(a.open, event) // an operator may have switched it since
			return g.cfg.Every, nil
		}
		if state, err = g.store.Switch(ctx, event, true); err != nil {
			return 0, refused(ctx, err)
		}
		g.cfg.Logger.ErrorContext(ctx, "the counters of a front gate were lost; it is on with new ones, and who waits asks for a new position", "event", event)
	}
	if state.Epoch == 0 {
		return g.cfg.Every, nil // its time was over since it was listed
	}
	line, err := a.reconcile(ctx, event, state, before.state)
	if err != nil {
		return 0, err
	}
	if !state.On {
		delete(a.open, event)
		return g.cfg.Every, nil
	}
	now := time.Now()
	before.shows.add(show{at: now, serving: state.Serving, joined: line.Joined, gate: state.Epoch, line: line.Epoch}, g.cfg.Step, g.cfg.Every)
	a.open[event] = seen{state: state, at: now, shows: before.shows}
	return min(g.cfg.Every, round.Next), nil
}

// caught makes an error of a panic; it is to be deferred.
func caught(err *error, what string) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("frontgate: %s panicked: %v", what, p)
	}
}

// forgotten is the time after which a gate that was on may have been switched off
// and forgotten by the store.
func forgotten(every time.Duration) time.Duration { return max(time.Minute, 3*every) }

// reconcile brings the line in step. A line whose gate is on by lost counters
// begins a new order, above the last position known of those counters.
func (a *advancer) reconcile(ctx context.Context, event string, state, before driver.State) (queue.State, error) {
	g := a.gate
	if g.cfg.Line != nil && state.On && before.On && state.Epoch != before.Epoch {
		if line, err := g.tellOnce(ctx, event, driver.State{Assigned: before.Assigned}); err != nil {
			return line, err
		}
	}
	return g.tell(ctx, event, state)
}
