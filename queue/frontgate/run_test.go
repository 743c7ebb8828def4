package frontgate_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	queuedriver "github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// run makes rounds of the gates until the returned function is called.
func run(t *testing.T, gates ...*frontgate.Gate) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, g := range gates {
		all.Go(func() {
			assert.NoError(t, g.Run(ctx))
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// Eight advancers make the rounds of one: 500 every 10 s, and never past the last
// position.
func TestManyAdvancersOneRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{Store: memory(t)}
		var gates []*frontgate.Gate
		for range 8 {
			gates = append(gates, newGate(t, store, frontgate.Config{}))
		}
		activate(t, gates[0])
		for range 2 {
			_, err := store.Assign(t.Context(), event, 1000)
			require.NoError(t, err)
		}
		stop := run(t, gates...)
		defer stop()
		synctest.Wait()
		began, last := time.Now(), int64(0)
		for range 120 { // a minute in steps of half a second
			s, err := store.State(t.Context(), event)
			require.NoError(t, err)
			if most := 500 * (int64(time.Since(began)/(10*time.Second)) + 1); s.Serving > min(most, 2000) || s.Serving > s.Assigned || s.Serving < last {
				t.Fatalf("after %s %d are served of %d, %d before", time.Since(began), s.Serving, s.Assigned, last)
			}
			last = s.Serving
			time.Sleep(500 * time.Millisecond)
		}
		if last != 2000 || store.rounds.Load() != 4 {
			t.Errorf("after a minute %d are served by %d rounds, want 2000 by 4", last, store.rounds.Load())
		}
	})
}

// An outage of the store stops the rounds; they go on when the store is back.
func TestRunOutlivesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{Store: memory(t)}
		g := newGate(t, store, frontgate.Config{Step: 1})
		activate(t, g)
		for range 100 {
			assign(t, g)
		}
		stop := run(t, g)
		defer stop()
		synctest.Wait()
		store.set(true)
		time.Sleep(time.Minute)
		store.set(false)
		if s, err := g.Status(t.Context(), event); err != nil || s.Serving != 1 {
			t.Errorf("after a minute without a store: %+v, %v", s, err)
		}
		time.Sleep(2 * time.Second)
		if s, err := g.Status(t.Context(), event); err != nil || s.Serving != 2 {
			t.Errorf("two seconds after it is back: %+v, %v", s, err)
		}
	})
}

// The line is switched on after the gate, with the positions given out before, and
// off with all of them; the order of arrival holds over both changes.
func TestHandOverKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		g := newGate(t, memory(t), frontgate.Config{Line: l})
		var orders []int64
		arrive := func(position int64, want bool) {
			t.Helper()
			order, ok := l.join(position)
			require.Equalf(t, want, ok, "position %d: taken %t", position, ok)
			if ok {
				orders = append(orders, order)
			}
		}
		for range 3 {
			arrive(0, true) // before the gate
			activate(t, g)
			arrive(0, false)
			early, late := assign(t, g), assign(t, g)
			_, err := g.Advance(t.Context(), event, 1)
			require.NoError(t, err)
			arrive(early.Position, true)
			state, err := g.Deactivate(t.Context(), event)
			if err != nil || state.On || state.Serving != state.Assigned {
				t.Fatalf("%+v, %v", state, err)
			}
			newcomer, ok := l.join(0)
			require.True(t, ok, "the line is closed after the gate")
			// A visitor with a position goes on with it, before later visitors.
			turn := check(t, g, late.RequestID)
			if position, err := g.Position(t.Context(), event, turn.Token, ""); err != nil || !turn.Admitted || position != late.Position {
				t.Fatalf("%+v: %d, %v", turn, position, err)
			}
			arrive(late.Position, true)
			orders = append(orders, newcomer)
		}
		for i := 1; i < len(orders); i++ {
			if orders[i] <= orders[i-1] {
				t.Errorf("order %d of the %d. arrival is not above %v", orders[i], i+1, orders[:i])
			}
		}
	})
}

// The next round, of any process, repairs a crash between the store and the line,
// of either switch.
func TestCrashBetweenStoreAndLine(t *testing.T) {
	for _, on := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := &line{}
			store := memory(t)
			g, other := newGate(t, store, frontgate.Config{Line: l}), newGate(t, store, frontgate.Config{Line: l})
			l.join(0)
			if !on {
				activate(t, g)
				assign(t, g)
			}
			l.set(errors.New("the process ends here"))
			change := g.Activate
			if !on {
				change = g.Deactivate
			}
			state, err := change(t.Context(), event)
			if err == nil || state.On != on {
				t.Fatalf("%+v, %v", state, err)
			}
			l.set(nil)
			if l.on() == on {
				t.Fatalf("the line was told %t by a failure", on)
			}
			if on {
				assign(t, other) // the gate works meanwhile
			}
			stop := run(t, other)
			defer stop()
			time.Sleep(11 * time.Second)
			if l.on() != on {
				t.Errorf("a round later the line's gate is %t, want %t", l.on(), on)
			}
			// Position 1 is behind those in line before, also after a late call.
			if order, _ := l.join(1); order != 2 {
				t.Errorf("position 1 has the order %d, want 2", order)
			}
		})
	}
}

// Two operators who switch at the same time leave the line in the state of the gate.
func TestSwitchedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory(t)
		slow := &slowLine{line: line{}}
		g := newGate(t, store, frontgate.Config{Line: slow})
		var all sync.WaitGroup
		all.Go(func() { g.Activate(t.Context(), event) })
		synctest.Wait()
		all.Go(func() { g.Deactivate(t.Context(), event) })
		all.Wait()
		s, err := store.State(t.Context(), event)
		if err != nil || s.On || slow.on() {
			t.Errorf("the gate is %t, the line's %t, %v", s.On, slow.on(), err)
		}
	})
}

// After a loss of the counters the rounds switch the gate on again, with new ones;
// old positions do not pass, and the line's order begins above all of them.
func TestLostCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		store := &watched{Store: memory(t)}
		g, other := newGate(t, store, frontgate.Config{Line: l, Step: 5}), newGate(t, store, frontgate.Config{Line: l, Step: 5})
		activate(t, g)
		var places []frontgate.Place
		for range 20 {
			places = append(places, assign(t, g))
		}
		stop := run(t, other)
		defer stop()
		time.Sleep(11 * time.Second)
		admitted := check(t, g, places[0].RequestID)
		require.Truef(t, admitted.Admitted, "%+v", admitted)
		if _, ok := l.join(admitted.Position); !ok {
			t.Fatal("the line is closed")
		}
		store.lose(t)
		time.Sleep(time.Second)
		// Between the loss and the next round no visitor has a position, and the gate
		// is as if it had never been on.
		for _, p := range places {
			if turn, err := g.Check(t.Context(), event, p.RequestID, ""); !errors.Is(err, frontgate.ErrLost) {
				t.Errorf("right after the loss, position %d: %+v, %v", p.Position, turn, err)
			}
		}
		time.Sleep(11 * time.Second)
		s, err := g.Status(t.Context(), event)
		if err != nil || !s.On || s.Assigned != 0 || !l.on() {
			t.Fatalf("a round after the loss: %+v, %v; the line's gate is %t", s, err, l.on())
		}
		for _, p := range places {
			if turn, err := g.Check(t.Context(), event, p.RequestID, ""); !errors.Is(err, frontgate.ErrLost) {
				t.Errorf("position %d: %+v, %v", p.Position, turn, err)
			}
		}
		if position, err := g.Position(t.Context(), event, admitted.Token, ""); !badToken(err) {
			t.Errorf("the token of a lost position: %d, %v", position, err)
		}
		if way, _, err := g.Decide(t.Context(), event, admitted.Token, ""); way != frontgate.Closed || err != nil {
			t.Errorf("the token of a lost position: %v, %v", way, err)
		}
		if order, _ := l.join(assign(t, g).Position); order <= 20 {
			t.Errorf("the first of the new positions has the order %d; 20 were given out before", order)
		}
	})
}

// If the counters are gone when the store comes back after more than a minute, an
// operator may have switched the gate off: the gate stays as the store has it.
func TestLongLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{Store: memory(t)}
		g := newGate(t, store, frontgate.Config{})
		activate(t, g)
		stop := run(t, g)
		defer stop()
		time.Sleep(time.Second)
		store.set(true)
		time.Sleep(2 * time.Minute)
		store.lose(t)
		store.set(false)
		time.Sleep(time.Minute)
		if s, err := g.Status(t.Context(), event); err != nil || s.On {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// A gate that an operator switched off stays off, also after its counters expire.
func TestOffStaysOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		g := newGate(t, memory(t), frontgate.Config{Line: l, Every: time.Hour})
		activate(t, g)
		stop := run(t, g)
		defer stop()
		time.Sleep(2 * time.Hour)
		_, err := g.Deactivate(t.Context(), event)
		require.NoError(t, err)
		time.Sleep(driver.Kept + 3*time.Hour)
		if s, err := g.Status(t.Context(), event); err != nil || s.On || s.Epoch != 0 || l.on() {
			t.Errorf("%+v, %v; the line's gate is %t", s, err, l.on())
		}
	})
}

// panickyLine is a line that panics for an event, as by its settings.
type panickyLine struct{ told map[string]int }

func (p panickyLine) Gate(_ context.Context, of string, _ queuedriver.Gate) (queue.State, error) {
	if p.told[of]++; of == event {
		panic("broken")
	}
	return queue.State{}, nil
}

// panickyStore is a store that panics when it is first asked for its events.
type panickyStore struct {
	driver.Store
	asked *int
}

func (p panickyStore) Events(ctx context.Context) ([]string, error) {
	if *p.asked++; *p.asked == 1 {
		panic("broken")
	}
	return p.Store.Events(ctx)
}

// A panic in a round is a failed round of its event, and ends neither the rounds of the
// others nor the program.
func TestALineThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, line := panickyStore{memory(t), new(int)}, panickyLine{told: map[string]int{}}
		for _, of := range []string{event, "other"} {
			_, err := store.Switch(t.Context(), of, true)
			require.NoError(t, err)
		}
		stop := run(t, newGate(t, store, frontgate.Config{Line: line}))
		time.Sleep(35 * time.Second)
		stop()
		if line.told[event] < 3 || line.told["other"] < 3 {
			t.Errorf("in 35 s the lines were told %v times", line.told)
		}
	})
}
