package frontgate

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/queue"
	queuedriver "github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// Activate switches the gate on: from now on arrivals get positions, and the line
// takes only visitors with one. When the line cannot be told, the gate is on all
// the same and the error is returned: [Gate.Run] tells the line later, and so does
// calling Activate again.
//
// A room with an opening ([queue.Room.OpenAt]) draws its order, and would have two: Activate
// fails with [driver.ErrInvalid] and switches nothing until the room has opened.
func (g *Gate) Activate(ctx context.Context, event string) (driver.State, error) {
	if line, ok := g.cfg.Line.(interface {
		State(ctx context.Context, event string) (queue.State, error)
	}); ok && driver.CheckEvent(event) == nil {
		s, err := line.State(ctx, event)
		if err == nil && !s.Opens.IsZero() {
			return driver.State{}, driver.Invalid("the room of %q opens at %s with a draw of the order; take the opening back first, or switch the gate on after it", event, s.Opens.Format(time.RFC3339))
		}
	}
	return g.turn(ctx, event, true)
}

// Deactivate switches the gate off: no more positions are given out, visitors with
// one are admitted, and the line takes all visitors again, behind the positions.
// For the line the same holds as with Activate.
func (g *Gate) Deactivate(ctx context.Context, event string) (driver.State, error) {
	return g.turn(ctx, event, false)
}

func (g *Gate) turn(ctx context.Context, event string, on bool) (driver.State, error) {
	if err := driver.CheckEvent(event); err != nil {
		return driver.State{}, err
	}
	began := time.Now()
	state, err := g.store.Switch(ctx, event, on)
	if err != nil {
		return driver.State{}, refused(ctx, err)
	}
	g.event(event).learn(state, began)
	if _, err := g.tell(ctx, event, state); err != nil {
		return state, err
	}
	return state, nil
}

// Status asks the store for the state of the gate.
func (g *Gate) Status(ctx context.Context, event string) (driver.State, error) {
	if err := driver.CheckEvent(event); err != nil {
		return driver.State{}, err
	}
	began := time.Now()
	state, err := g.store.State(ctx, event)
	if err != nil {
		return driver.State{}, refused(ctx, err)
	}
	g.event(event).learn(state, began)
	return state, nil
}

// Advance raises the serving counter at once, in addition to the rounds: by so
// many, or by Config.Step when by is 0, and never above the positions given out.
func (g *Gate) Advance(ctx context.Context, event string, by int64) (driver.Round, error) {
	if by == 0 {
		by = g.cfg.Step
	}
	if err := driver.CheckAdvance(ctx, event, by, 0); err != nil {
		return driver.Round{}, err
	}
	began := time.Now()
	round, err := g.store.Advance(ctx, event, by, 0)
	if err != nil {
		return driver.Round{}, refused(ctx, err)
	}
	g.event(event).learn(round.State, began)
	return round, nil
}

// tell brings the line in step with the gate, and returns the state of the line. If
// another caller switches the gate at the same time, tell looks again.
func (g *Gate) tell(ctx context.Context, event string, state driver.State) (line queue.State, err error) {
	if g.cfg.Line == nil {
		return line, nil
	}
	const tries = 3
	for range tries {
		if line, err = g.tellOnce(ctx, event, state); err != nil {
			return line, err
		}
		now, err := g.store.State(ctx, event)
		if err != nil {
			return line, refused(ctx, err)
		}
		if now.On == state.On && now.Epoch == state.Epoch && now.Opened == state.Opened {
			return line, nil
		}
		state = now
	}
	return line, nil // it is switched without end; the next round tells the line
}

func (g *Gate) tellOnce(ctx context.Context, event string, state driver.State) (queue.State, error) {
	positions := state.Assigned
	if state.On {
		// Positions above are behind the visitors who are in the line already, also
		// when the line is told late.
		positions = state.Opened
	}
	line, err := g.cfg.Line.Gate(ctx, event, queuedriver.Gate{On: state.On, Positions: positions})
	if err != nil {
		return line, fmt.Errorf("frontgate: tell the line of %q that the gate is %s: %w", event, onOff(state.On), err)
	}
	return line, nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
