package frontgate_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/queue/frontgate"
)

// world is a gate of eight processes, with the state for its invariants.
type world struct {
	gates []*frontgate.Gate
	store *watched
	line  *line
	held  []held
	epoch uint64
	given int64 // positions of this epoch
	// round is the time of the last round, and served the counter after it.
	round  time.Time
	served int64
}

type held struct {
	place    frontgate.Place
	epoch    uint64
	admitted bool
}

// Under any calls, failures and losses: positions are unique and dense, the serving
// counter never passes them, rounds are a period apart, admitted visitors have been
// served, no visitor holds a lost position, and the line ends up in the state of the
// gate.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 10, 60).Draw(rt, "steps")
		var broken error
		synctest.Test(t, func(t *testing.T) { broken = play(t, steps) })
		require.NoError(rt, broken)
	})
}

type step struct {
	What string
	Gate int
	N    int
}

func drawStep(t *rapid.T) step {
	return step{
		What: rapid.SampledFrom([]string{"assign", "assign", "assign", "poll", "poll", "round", "round", "by hand", "on", "off", "crash on", "crash off", "lose", "away", "pass"}).Draw(t, "what"),
		Gate: rapid.IntRange(0, 7).Draw(t, "gate"),
		N:    rapid.IntRange(1, 9).Draw(t, "n"),
	}
}

const (
	stepSize = 3
	period   = 10 * time.Second
)

func play(t *testing.T, steps []step) error {
	w := &world{store: &watched{Store: memory(t)}, line: &line{}}
	for range 8 {
		w.gates = append(w.gates, newGate(t, w.store, frontgate.Config{Step: stepSize, Every: period, Line: w.line}))
	}
	for i, s := range steps {
		if err := w.do(t, s); err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, s, err)
		}
		if err := w.invariants(t); err != nil {
			return fmt.Errorf("after step %d, %+v: %w", i, s, err)
		}
	}
	return w.settles(t)
}

func (w *world) do(t *testing.T, s step) error {
	ctx, g := t.Context(), w.gates[s.Gate]
	switch s.What {
	case "assign":
		for range s.N {
			if err := w.assign(t, g); err != nil {
				return err
			}
		}
	case "poll":
		return w.poll(t, g)
	case "round":
		before, err := w.store.State(ctx, event)
		if err != nil {
			return err
		}
		r, err := w.store.Advance(ctx, event, stepSize, period)
		if err != nil {
			return err
		}
		early := !w.round.IsZero() && time.Since(w.round) < period
		if r.Moved > stepSize || r.Moved != r.Serving-before.Serving || early && r.Moved > 0 {
			return fmt.Errorf("a round %s after the last one raised from %+v to %+v", time.Since(w.round), before, r)
		}
		if r.On && !early {
			w.round = time.Now()
		}
	case "by hand":
		if r, err := g.Advance(ctx, event, int64(s.N)); err != nil || r.Moved > int64(s.N) {
			return fmt.Errorf("raised by %d: %+v, %w", s.N, r, err)
		}
	case "on", "crash on", "off", "crash off":
		if s.What == "crash on" || s.What == "crash off" {
			w.line.set(errors.New("the process ends here"))
			defer w.line.set(nil)
		}
		change := g.Activate
		if s.What == "off" || s.What == "crash off" {
			change = g.Deactivate
		}
		// If the line cannot be told, the gate is switched all the same.
		if state, err := change(ctx, event); state.On != (s.What == "on" || s.What == "crash on") {
			return fmt.Errorf("%+v, %w", state, err)
		}
	case "lose":
		time.Sleep(time.Millisecond) // no two epochs begin at once
		w.store.lose(t)
		w.epoch, w.given, w.served, w.round = 0, 0, 0, time.Time{}
	case "away":
		w.store.set(true)
		defer time.Sleep(time.Second) // a process asks again a second after it failed
		defer w.store.set(false)
		time.Sleep(3 * time.Second)
		for _, h := range w.held {
			if turn, err := g.Check(ctx, event, h.place.RequestID, ""); err == nil {
				return fmt.Errorf("without a store position %d is told %+v", h.place.Position, turn)
			}
		}
	case "pass":
		time.Sleep(time.Duration(s.N) * time.Second)
	}
	return nil
}

// assign takes a position by a process whose state may be old.
func (w *world) assign(t *testing.T, g *frontgate.Gate) error {
	state, err := w.store.State(t.Context(), event)
	if err != nil {
		return err
	}
	place, err := g.Assign(t.Context(), event, "")
	switch {
	case errors.Is(err, frontgate.ErrOff):
		return nil // it may not have heard yet that the gate is on
	case err != nil:
		return err
	case !state.On || place.Position != state.Assigned+1:
		return fmt.Errorf("position %d is given out at %+v", place.Position, state)
	}
	w.held = append(w.held, held{place: place, epoch: state.Epoch})
	return nil
}

// poll polls for all visitors with a position; a process may have old counters.
func (w *world) poll(t *testing.T, g *frontgate.Gate) error {
	state, err := w.store.State(t.Context(), event)
	if err != nil {
		return err
	}
	for i := range w.held {
		h := &w.held[i]
		turn, err := g.Check(t.Context(), event, h.place.RequestID, "")
		lost := h.epoch != state.Epoch
		switch {
		case errors.Is(err, frontgate.ErrLost) && lost:
		case err != nil:
			return fmt.Errorf("position %d of the epoch %d: %w", h.place.Position, h.epoch, err)
		case lost && turn.Serving > turn.Position:
			// The process has not learned of the loss yet, for a second at most.
		case turn.Admitted != (turn.Position <= turn.Serving):
			return fmt.Errorf("%+v", turn)
		case !lost && turn.Serving > state.Serving:
			return fmt.Errorf("%+v is told, and the store is at %+v", turn, state)
		case !lost && h.admitted && !turn.Admitted:
			// Another process may learn of it a second later, at most.
			time.Sleep(time.Second)
			if turn, err = g.Check(t.Context(), event, h.place.RequestID, ""); err != nil || !turn.Admitted {
				return fmt.Errorf("who was admitted is not any more: %+v, %w", turn, err)
			}
		}
		h.admitted = h.admitted || turn.Admitted
	}
	return nil
}

func (w *world) invariants(t *testing.T) error {
	s, err := w.store.State(t.Context(), event)
	switch {
	case err != nil:
		return err
	case s.Serving > s.Assigned || s.Opened > s.Assigned || !s.On && s.Serving != s.Assigned:
		return fmt.Errorf("%+v", s)
	case w.epoch != 0 && s.Epoch != w.epoch:
		return fmt.Errorf("the epoch was %d: %+v", w.epoch, s)
	case s.Assigned < w.given || s.Serving < w.served:
		return fmt.Errorf("counters fell from %d and %d: %+v", w.given, w.served, s)
	}
	w.epoch, w.given, w.served = s.Epoch, s.Assigned, s.Serving
	seen := map[int64]bool{}
	for _, h := range w.held {
		if h.epoch != s.Epoch {
			continue
		}
		if seen[h.place.Position] || h.place.Position > s.Assigned {
			return fmt.Errorf("position %d is given out twice, or not at all, at %+v", h.place.Position, s)
		}
		seen[h.place.Position] = true
	}
	if int64(len(seen)) != s.Assigned {
		return fmt.Errorf("%d hold a position of %d", len(seen), s.Assigned)
	}
	return nil
}

// settles lets two processes make rounds for a while: the line follows the gate, and
// every visitor with a position gets a turn.
func (w *world) settles(t *testing.T) error {
	stop := run(t, w.gates[0], w.gates[5])
	defer stop()
	time.Sleep(40 * time.Minute) // for 360 positions at 3 in 10 s twice over
	s, err := w.store.State(t.Context(), event)
	if err != nil {
		return err
	}
	if s.Epoch != 0 && w.line.on() != s.On || s.Serving != s.Assigned {
		return fmt.Errorf("in the end the line's gate is %t, and the gate is at %+v", w.line.on(), s)
	}
	for _, h := range w.held {
		turn, err := w.gates[3].Check(t.Context(), event, h.place.RequestID, "")
		if h.epoch == s.Epoch && (err != nil || !turn.Admitted) || h.epoch != s.Epoch && !errors.Is(err, frontgate.ErrLost) {
			return fmt.Errorf("in the end position %d of the epoch %d is told %+v, %w, at %+v", h.place.Position, h.epoch, turn, err, s)
		}
	}
	return nil
}
