package queue_test

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

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
)

// stepped is a store whose sweeps take many steps.
type stepped struct {
	*spy
	mu    sync.Mutex
	froms []int64
}

func (s *stepped) Sweep(_ context.Context, _ string, _ driver.Rules, from int64) (driver.Swept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.froms = append(s.froms, from)
	if from == 2 && len(s.froms) == 3 {
		return driver.Swept{}, errors.New("once")
	}
	return driver.Swept{Next: from + 1, Done: from == 4}, nil
}

func TestASweepGoesOnWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stepped{spy: newSpy(t)}
		room := open(t, store, queue.Config{})
		fill(t, room)
		stop := run(t, room)
		time.Sleep(149 * time.Second)
		if n := store.begun(); n > 0 {
			t.Errorf("%d sweeps began before all had the time to poll", n)
		}
		time.Sleep(36 * time.Second)
		stop()
		if want := []int64{0, 1, 2, 2, 3, 4, 0, 1, 2, 3, 4}; !slices.Equal(store.froms, want) {
			t.Errorf("swept from %v, want %v", store.froms, want)
		}
	})
}

// moody is a store that is unreachable at times, and whose clock jumps.
type moody struct {
	*stepped
	mu   sync.Mutex
	down bool
	jump time.Duration
}

func (a *moody) set(down bool, jump time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down, a.jump = down, a.jump+jump
}

func (a *moody) Admit(ctx context.Context, event string, r driver.Rules) (driver.Admission, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down {
		return driver.Admission{}, errors.New("away")
	}
	admission, err := a.spy.Admit(ctx, event, r)
	admission.Now = admission.Now.Add(a.jump)
	return admission, err
}

// begun is the number of sweeps begun since the last call.
func (s *stepped) begun() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, from := range s.froms {
		if from == 0 {
			n++
		}
	}
	s.froms = nil
	return n
}

// An outage removes no user: after the store was unreachable, or its clock has
// jumped, no user is removed for as long as a hidden tab may take to poll.
func TestNobodyIsRemovedForAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &moody{stepped: &stepped{spy: newSpy(t)}}
		room := open(t, store, queue.Config{})
		fill(t, room)
		defer run(t, room)()
		pass := func(after time.Duration, what string, want bool) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if n := store.begun(); n > 0 != want {
				t.Errorf("%s: %d sweeps began", what, n)
			}
		}
		pass(155*time.Second, "at first", true)
		store.set(true, 0)
		pass(20*time.Second, "away for a moment", false)
		store.set(false, 0)
		pass(35*time.Second, "back after a moment", true)
		store.set(true, 0)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		store.begun()
		store.set(false, 0)
		pass(149*time.Second, "back", false)
		pass(10*time.Second, "back for long enough", true)
		store.set(false, time.Hour)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		store.begun()
		pass(145*time.Second, "after a step of the clock", false)
		pass(10*time.Second, "long after it", true)
	})
}

// An unused event is forgotten, and admitted again when it is used.
func TestEventsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		var let register
		room := open(t, store, queue.Config{NotifyTurn: let.note})
		defer run(t, room)()
		for round := range 2 {
			fill(t, room, "a")
			require.NoError(t, room.Leave(context.Background(), "show-1", "inside"))
			time.Sleep(2 * time.Second)
			synctest.Wait()
			assert.Equalf(t, []string{"a"}, let.users("show-1"), "round %d", round)
			require.NoError(t, room.Leave(context.Background(), "show-1", "a"))
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			store.count("admit")
			time.Sleep(10 * time.Second)
			if n := store.count("admit"); n != 0 {
				t.Errorf("round %d: %d admissions of an event that is gone", round, n)
			}
		}
	})
}
