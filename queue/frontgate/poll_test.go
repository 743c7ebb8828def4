package frontgate_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// A poll costs no call of the store: once a second one caller of the crowd asks.
func TestPollsCostOneRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{Store: memory(t)}
		g := newGate(t, store, frontgate.Config{})
		activate(t, g)
		place := assign(t, g)
		time.Sleep(time.Second)
		store.states.Store(0)
		store.hold = make(chan struct{})
		for second := range int64(5) {
			var all sync.WaitGroup
			for range 200 {
				all.Go(func() { check(t, g, place.RequestID) })
			}
			// While one caller asks, the others get the known state.
			synctest.Wait()
			if asked := store.states.Load(); asked != second+1 {
				t.Fatalf("after %d bursts of 200 polls the store was asked %d times", second+1, asked)
			}
			store.hold <- struct{}{}
			all.Wait()
			for range 200 {
				check(t, g, place.RequestID)
			}
			if asked := store.states.Load(); asked != second+1 {
				t.Fatalf("after %d bursts of 400 polls the store was asked %d times", second+1, asked)
			}
			time.Sleep(time.Second)
		}
	})
}

// A slow refresh delays only the caller that makes it.
func TestSlowRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{Store: memory(t)}
		g := newGate(t, store, frontgate.Config{Refresh: time.Second, Timeout: time.Minute})
		activate(t, g)
		place := assign(t, g)
		time.Sleep(time.Second)
		store.hold = make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() { check(t, g, place.RequestID) })
		synctest.Wait()
		time.Sleep(1500 * time.Millisecond) // 2.5 s after the last answer
		answered := make(chan struct{})
		all.Go(func() {
			check(t, g, place.RequestID)
			close(answered)
		})
		synctest.Wait()
		select {
		case <-answered:
		default:
			t.Error("a poll waits for another's refresh although the counters are not stale")
		}
		close(store.hold)
		all.Wait()
	})
}

// A late answer does not overwrite newer state.
func TestLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &lateState{Store: memory(t)}
		g := newGate(t, store, frontgate.Config{})
		activate(t, g)
		place := assign(t, g)
		time.Sleep(time.Second)
		store.hold = make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() { check(t, g, place.RequestID) }) // asks, and is answered of before
		synctest.Wait()
		time.Sleep(time.Millisecond)
		_, err := g.Advance(t.Context(), event, 1)
		require.NoError(t, err)
		close(store.hold)
		all.Wait()
		if turn := check(t, g, place.RequestID); !turn.Admitted {
			t.Errorf("%+v", turn)
		}
	})
}

// lateState answers with the state at the time of the call, once hold is closed.
type lateState struct {
	driver.Store
	hold chan struct{}
}

func (l *lateState) State(ctx context.Context, event string) (driver.State, error) {
	s, err := l.Store.State(ctx, event)
	if l.hold != nil {
		<-l.hold
	}
	return s, err
}

// Events without a gate cost a bounded memory.
func TestEventsAreBounded(t *testing.T) {
	store := &watched{Store: memory(t)}
	g := newGate(t, store, frontgate.Config{MaxEvents: 10})
	activate(t, g)
	for i := range 1000 {
		name := strings.Repeat("x", i%100+1)
		if _, err := g.Assign(t.Context(), name, ""); !errors.Is(err, frontgate.ErrOff) {
			t.Fatal(err)
		}
		// An event in use stays known.
		if way, _, err := g.Decide(t.Context(), event, "", ""); way != frontgate.Closed || err != nil {
			t.Fatal(way, err)
		}
	}
	// A hundred other events in turn are asked for each time, and the event in use
	// once a second at most.
	if asked := store.states.Load(); asked > 1100 {
		t.Errorf("the store was asked %d times for 1,000 calls of others", asked)
	}
	if frontgate.Known(g) > 10 {
		t.Errorf("%d events are known", frontgate.Known(g))
	}
	// An event's id may be a part of a large request.
	g = newGate(t, memory(t), frontgate.Config{})
	const requests = 64
	for i := range requests {
		target := fmt.Sprintf("%03d?%s", i, strings.Repeat("x", 1<<20))
		if _, err := g.Assign(t.Context(), target[:3], ""); !errors.Is(err, frontgate.ErrOff) {
			t.Fatal(err)
		}
	}
	runtime.GC()
	var mem runtime.MemStats
	if runtime.ReadMemStats(&mem); frontgate.Known(g) != requests || mem.HeapAlloc > requests<<20/2 {
		t.Errorf("%d ids of three bytes keep %d MB", requests, mem.HeapAlloc>>20)
	}
}
