package frontgate_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// Without a store polls are answered for 3 s more. After that no visitor passes
// until the store is back.
func TestStoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{Store: memory(t)}
		g := newGate(t, store, frontgate.Config{})
		activate(t, g)
		first, second := assign(t, g), assign(t, g)
		_, err := g.Advance(t.Context(), event, 1)
		require.NoError(t, err)
		admitted := check(t, g, first.RequestID)
		store.set(true)
		time.Sleep(3*time.Second - time.Millisecond)
		if turn := check(t, g, second.RequestID); turn.Admitted {
			t.Errorf("position 2 was admitted while 1 is served: %+v", turn)
		}
		time.Sleep(time.Millisecond)
		refused := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, frontgate.ErrUnavailable) || fault.Of(err) != fault.Infrastructure || !errors.Is(err, errAway) {
				t.Errorf("3 s without a store, %s: %v", what, err)
			}
		}
		before := store.states.Load()
		for range 1000 {
			for what, id := range map[string]string{"position 1": first.RequestID, "position 2": second.RequestID} {
				_, err := g.Check(t.Context(), event, id, "")
				refused(what, err)
			}
		}
		if asked := store.states.Load() - before; asked > 1 {
			t.Errorf("2,000 polls asked the store %d times while it is away", asked)
		}
		_, err = g.Assign(t.Context(), event, "")
		refused("assign", err)
		_, _, err = g.Decide(t.Context(), event, "", "")
		refused("without a token", err)
		_, err = g.Position(t.Context(), event, admitted.Token, "")
		refused("with a token", err)
		if _, err := g.Position(t.Context(), event, "", ""); !badToken(err) {
			t.Errorf("without a token the store is not needed: %v", err)
		}
		for what, call := range map[string]func() error{
			"activate":   func() error { _, err := g.Activate(t.Context(), event); return err },
			"deactivate": func() error { _, err := g.Deactivate(t.Context(), event); return err },
			"status":     func() error { _, err := g.Status(t.Context(), event); return err },
			"advance":    func() error { _, err := g.Advance(t.Context(), event, 1); return err },
		} {
			refused(what, call())
		}
		store.set(false)
		time.Sleep(time.Second)
		if turn := check(t, g, second.RequestID); turn.Admitted || turn.Position != 2 {
			t.Errorf("with the store back: %+v", turn)
		}
	})
}

// A store that panics fails the call, and does not block later ones.
func TestStorePanics(t *testing.T) {
	store := &panics{Store: memory(t)}
	g := newGate(t, store, frontgate.Config{Refresh: time.Millisecond})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		g.Assign(t.Context(), event, "")
	}()
	store.fine = true
	deadline := time.Now().Add(10 * time.Second)
	for {
		_, err := g.Assign(t.Context(), event, "")
		if errors.Is(err, frontgate.ErrOff) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

type panics struct {
	driver.Store
	fine bool
}

func (p *panics) State(ctx context.Context, event string) (driver.State, error) {
	if !p.fine {
		panic("no")
	}
	return p.Store.State(ctx, event)
}

// A caller that leaves a refresh with other waiters does not end it for them.
func TestCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{Store: memory(t), hold: make(chan struct{})}
		g := newGate(t, store, frontgate.Config{})
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { g.Decide(ctx, event, "", "") }) // the caller that asks the store
		synctest.Wait()
		for range 10 {
			all.Go(func() {
				if way, _, err := g.Decide(t.Context(), event, "", ""); way != frontgate.Open || err != nil {
					t.Errorf("%v, %v", way, err)
				}
			})
		}
		impatient := make(chan error, 1)
		all.Go(func() {
			_, _, err := g.Decide(ctx, event, "", "")
			impatient <- err
		})
		synctest.Wait()
		leave()
		synctest.Wait()
		select {
		case err := <-impatient:
			if !errors.Is(err, context.Canceled) || errors.Is(err, frontgate.ErrUnavailable) {
				t.Errorf("who left: %v", err)
			}
		default:
			t.Error("who left still waits")
		}
		close(store.hold)
		all.Wait()
	})
}
