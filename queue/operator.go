package queue

import (
	"context"
	"maps"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// SetThreshold sets how many users may be active in an event; 0 admits no one. A
// lower threshold expels no one: admissions stop until there are places again.
func (r *Room) SetThreshold(ctx context.Context, event string, n int) (State, error) {
	if n < 0 {
		return State{}, invalid("the threshold is %d; give 0 or more", n)
	}
	return r.change(ctx, event, driver.Change{Threshold: &n})
}

// Pause stops admissions until Resume; the users inside stay, and the line goes on
// to grow.
func (r *Room) Pause(ctx context.Context, event string) (State, error) {
	return r.change(ctx, event, driver.Change{Paused: new(true)})
}

// Resume ends a pause.
func (r *Room) Resume(ctx context.Context, event string) (State, error) {
	return r.change(ctx, event, driver.Change{Paused: new(false)})
}

// SetShares sets the shares of lanes of Config.Lanes for an event, by their names. Lanes that
// are not named have those of the Config again. With a share of 0 the members of a lane wait
// in the line alone. It needs Config.Settings.
func (r *Room) SetShares(ctx context.Context, event string, shares map[string]float64) (State, error) {
	if r.cfg.Settings == nil {
		return State{}, invalid("the shares of lanes need Config.Settings, which keep them outside of the store")
	}
	if err := checkShares(r.cfg.Lanes, shares); err != nil {
		return State{}, err
	}
	all := map[string]float64{}
	maps.Copy(all, shares)
	return r.change(ctx, event, driver.Change{Shares: all})
}

// SetChallenge turns the challenge of newcomers an event on or off, in all processes
// and in place of what each of them was configured to do. It is for the Join of a [Visitor] to
// obey: package queuehttp does.
func (r *Room) SetChallenge(ctx context.Context, event string, on bool) (State, error) {
	return r.change(ctx, event, driver.Change{Challenge: &on})
}

// Clear removes all users, from the line and from inside. Their tickets are worth
// nothing.
func (r *Room) Clear(ctx context.Context, event string) (State, error) {
	return r.change(ctx, event, driver.Change{Clear: true})
}

// Gate tells the room that a front gate was switched on or off: see [driver.Gate].
func (r *Room) Gate(ctx context.Context, event string, g driver.Gate) (State, error) {
	if g.Positions < 0 {
		return State{}, invalid("the gate has given out %d positions; give 0 or more", g.Positions)
	}
	return r.change(ctx, event, driver.Change{Gate: &g})
}

// State asks the store for the state of an event.
func (r *Room) State(ctx context.Context, event string) (State, error) {
	return r.change(ctx, event, driver.Change{})
}

func (r *Room) change(ctx context.Context, event string, c driver.Change) (State, error) {
	return r.changeOpening(ctx, event, c, nil)
}

// changeOpening makes a change, and sets the opening in the settings, if open is not nil.
func (r *Room) changeOpening(ctx context.Context, event string, c driver.Change, open func(*Setting) error) (State, error) {
	if err := checkEvent(event); err != nil {
		return State{}, err
	}
	l := r.line(event, r.now())
	bounded, cancel := r.boundedBy(ctx)
	defer cancel()
	if c.Threshold != nil || c.Paused != nil || c.Clear || c.Shares != nil || c.Challenge != nil || open != nil {
		if err := r.keep(bounded, event, &c, open); err != nil {
			return State{}, err
		}
		l.setting.Store(nil)
	}
	state, err := l.change(bounded, c)
	if err != nil {
		return State{}, refused(ctx, err)
	}
	if c.Clear && r.cfg.Settings != nil {
		// Once the leaves are published, the opening is over: they may be since keep.
		if s, err := r.cfg.Settings.Load(bounded, event); err == nil && s.Draw != nil && len(s.Draw.Root) > 0 {
			return r.Clear(ctx, event)
		}
	}
	l.due.Store(0) // visitors of this process see it at once
	l.follow(ctx, &state)
	return state, nil
}

// change makes a change in the store.
func (l *line) change(ctx context.Context, c driver.Change) (state State, err error) {
	err = l.ask(func() (err error) {
		state, err = l.room.store.Change(ctx, l.event, l.room.rules, c)
		return err
	})
	if err == nil {
		l.learn(state)
	}
	return state, err
}

// keep saves a change in the settings, if there are any, and makes it one of all that
// is set.
func (r *Room) keep(ctx context.Context, event string, c *driver.Change, open func(*Setting) error) error {
	if r.cfg.Settings == nil {
		return nil
	}
	s, err := r.save(ctx, event, func(s *Setting) error {
		if c.Threshold != nil {
			s.Threshold = c.Threshold
		}
		if c.Paused != nil {
			s.Paused = *c.Paused
		}
		if c.Shares != nil {
			s.Shares = c.Shares
		}
		if c.Challenge != nil {
			s.Challenge = c.Challenge
		}
		if c.Clear && s.Draw != nil && len(s.Draw.Root) > 0 {
			s.Opens, s.Draw = time.Time{}, nil // it is over
		}
		if open != nil {
			return open(s)
		}
		return nil
	})
	all := copyOf(s)
	all.Clear, all.Gate = c.Clear, c.Gate
	*c = all
	return err
}
