package frontgate_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/token"
)

// The way of one visitor: no gate, a gate, a position, a turn, a token.
func TestJourney(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, memory(t), frontgate.Config{Step: 2})
		ctx := t.Context()
		if _, err := g.Assign(ctx, event, ""); !errors.Is(err, frontgate.ErrOff) {
			t.Errorf("assign of a gate that is off: %v", err)
		}
		if way, position, err := g.Decide(ctx, event, "", ""); way != frontgate.Open || position != 0 || err != nil {
			t.Errorf("off: %v, %d, %v", way, position, err)
		}
		activate(t, g)
		if way, _, err := g.Decide(ctx, event, "", ""); way != frontgate.Closed || err != nil {
			t.Errorf("on, without a token: %v, %v", way, err)
		}
		places := []frontgate.Place{assign(t, g), assign(t, g), assign(t, g)}
		for i, p := range places {
			if turn := check(t, g, p.RequestID); p.Position != int64(i)+1 || turn.Admitted || turn.Token != "" || turn.Position != p.Position || turn.Wait <= 0 {
				t.Errorf("before the first round: %+v of %+v", turn, p)
			}
		}
		_, err := g.Advance(ctx, event, 0)
		require.NoError(t, err)
		for i, p := range places {
			turn := check(t, g, p.RequestID)
			if turn.Admitted != (i < 2) || turn.Serving != 2 || (turn.Token != "") != turn.Admitted {
				t.Errorf("after a round of 2, position %d: %+v", p.Position, turn)
			}
			if !turn.Admitted {
				continue
			}
			if way, position, err := g.Decide(ctx, event, turn.Token, ""); way != frontgate.Passed || position != p.Position || err != nil {
				t.Errorf("with the token of %d: %v, %d, %v", p.Position, way, position, err)
			}
		}
		time.Sleep(time.Second / 2) // tokens count whole ones
		turn := check(t, g, places[0].RequestID)
		time.Sleep(time.Until(turn.Expires) - time.Millisecond)
		if way, _, err := g.Decide(ctx, event, turn.Token, ""); way != frontgate.Passed || err != nil {
			t.Errorf("before the token expires: %v, %v", way, err)
		}
		time.Sleep(time.Millisecond)
		if way, _, err := g.Decide(ctx, event, turn.Token, ""); way != frontgate.Closed || err != nil {
			t.Errorf("600 s later: %v, %v", way, err)
		}
		if _, err := g.Position(ctx, event, turn.Token, ""); !errors.Is(err, token.ErrExpired) {
			t.Errorf("600 s later: %v", err)
		}
		// The request id gives another token to a visitor who comes back.
		if again := check(t, g, places[0].RequestID); !again.Admitted || again.Token == turn.Token {
			t.Errorf("600 s later: %+v", again)
		}
	})
}

// With eight processes of many callers each, no two callers have the same position
// and none is left out.
func TestPositionsUniqueAndDense(t *testing.T) {
	store := &watched{Store: memory(t)}
	const instances, callers, calls = 8, 8, 20
	var mu sync.Mutex
	var given []int64
	var all sync.WaitGroup
	for i := range instances {
		g := newGate(t, store, frontgate.Config{})
		if i == 0 {
			activate(t, g)
		}
		for range callers {
			all.Go(func() {
				last := int64(0)
				for range calls {
					p, err := g.Assign(t.Context(), event, "")
					if err != nil {
						t.Error(err)
						return
					}
					if p.Position <= last {
						t.Errorf("position %d comes after %d", p.Position, last)
					}
					last = p.Position
					mu.Lock()
					given = append(given, p.Position)
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	slices.Sort(given)
	for i, one := range given {
		if one != int64(i)+1 {
			t.Fatalf("of %d positions the %d. is %d", len(given), i+1, one)
		}
	}
	assert.Len(t, given, instances*callers*calls, "positions")
}

// Calls that arrive while a call is in flight share the next one.
func TestAssignsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowAssign{Store: memory(t)}
		g := newGate(t, slow, frontgate.Config{})
		activate(t, g)
		var all sync.WaitGroup
		all.Go(func() { assign(t, g) })
		synctest.Wait() // the first call is under way
		for range 99 {
			all.Go(func() { assign(t, g) })
		}
		all.Wait()
		if slices.Sort(slow.sizes); !slices.Equal(slow.sizes, []int{1, 99}) {
			t.Errorf("100 callers made calls of %v", slow.sizes)
		}
	})
}

type slowAssign struct {
	driver.Store
	sizes []int // calls come one after the other
}

func (s *slowAssign) Assign(ctx context.Context, event string, n int) (driver.State, error) {
	time.Sleep(10 * time.Millisecond)
	s.sizes = append(s.sizes, n)
	return s.Store.Assign(ctx, event, n)
}
