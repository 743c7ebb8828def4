package queue_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace-go/millrace/queue"
)

// stepped is a store whose sweeps take many steps.
type stepped struct {
	*spy
	mu    sync.Mutex
	froms []int64
}

func (s *stepped) Sweep(_ context.Context, _ string, _ queue.Rules, from int64) (queue.Swept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.froms = append(s.froms, from)
	if from == 2 && len(s.froms) == 3 {
		return queue.Swept{}, errors.New("once")
	}
	return queue.Swept{Next: from + 1, Done: from == 4}, nil
}

func TestASweepGoesOnWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stepped{spy: newSpy(t)}
		room := open(t, store, queue.Config{})
		fill(t, room)
		stop := run(t, room, queue.AdmitterConfig{})
		time.Sleep(35 * time.Second)
		stop()
		if want := []int64{0, 1, 2, 2, 3, 4, 0, 1, 2, 3, 4}; !slices.Equal(store.froms, want) {
			t.Errorf("swept from %v, want %v", store.froms, want)
		}
	})
}

// An event that nobody uses is forgotten, and admitted again when it is used.
func TestEventsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		var let register
		defer run(t, room, queue.AdmitterConfig{Notify: let.note})()
		for round := range 2 {
			fill(t, room, "a")
			if err := room.Leave(context.Background(), "show-1", "inside"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if got := let.users("show-1"); !slices.Equal(got, []string{"a"}) {
				t.Errorf("round %d: %v", round, got)
			}
			if err := room.Leave(context.Background(), "show-1", "a"); err != nil {
				t.Fatal(err)
			}
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
