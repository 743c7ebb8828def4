package queue_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace-go/millrace/queue"
)

// Only a user who would join is asked, and a refused one takes no place.
func TestOnlyAJoinIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := open(t, newSpy(t), queue.Config{Threshold: 1})
		asked, refusal := 0, error(nil)
		visitor := func(user, ticket string) queue.Visitor {
			return queue.Visitor{User: user, Ticket: ticket, Join: func(context.Context, queue.State) error {
				asked++
				return refusal
			}}
		}
		stand := func(user, ticket string, want queue.Status, times int) queue.Place {
			t.Helper()
			asked = 0
			place, err := room.Check(t.Context(), "e", visitor(user, ticket))
			if err != nil || place.Status != want || asked != times {
				t.Errorf("%s: %s, asked %d times: %v; want %s, %d", user, place.Status, asked, err, want, times)
			}
			return place
		}
		stand("inside", "", queue.Active, 1)
		ticket := stand("first", "", queue.Waiting, 1).Ticket
		refusal = errors.New("not now")
		for range 3 {
			if _, err := room.Check(t.Context(), "e", visitor("late", "")); !errors.Is(err, refusal) {
				t.Errorf("a refused user: %v", err)
			}
			if _, err := room.Check(t.Context(), "e", visitor("late", ticket)); !errors.Is(err, refusal) {
				t.Errorf("with a ticket of another: %v", err)
			}
			stand("inside", "", queue.Active, 1)
			stand("first", "", queue.Waiting, 1)
			stand("first", ticket, queue.Waiting, 0)
			time.Sleep(2 * time.Second)
		}
		asked = 0
		if place, err := room.Heartbeat(t.Context(), "e", visitor("late", "")); err != nil || place.Status != queue.None || asked != 0 {
			t.Errorf("a heartbeat: %v %v, asked %d times", place.Status, err, asked)
		}
		if state, err := room.State(t.Context(), "e"); err != nil || state.Waiting != 1 || state.Joined != 2 {
			t.Errorf("%+v %v", state, err)
		}
		refusal = nil
		if place := stand("late", "", queue.Waiting, 1); place.Position != 2 {
			t.Errorf("position %d", place.Position)
		}
	})
}
