package queue_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		assert.Equal(t, 2, stand("late", "", queue.Waiting, 1).Position, "position")
	})
}

// TestATicketOfAClearedRoomIsAskedLikeNone: it brings no place back, so its user joins.
func TestATicketOfAClearedRoomIsAskedLikeNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		tickets := fill(t, room, "a")
		refusal := errors.New("not now")
		refuses := func(context.Context, queue.State) error { return refusal }
		_, err := room.Clear(t.Context(), "show-1")
		require.NoError(t, err)
		for _, r := range []*queue.Room{room, open(t, store, queue.Config{})} {
			place, err := r.Check(t.Context(), "show-1", queue.Visitor{User: "a", Ticket: tickets["a"], Join: refuses})
			assert.ErrorIsf(t, err, refusal, "the user is %s", place.Status)
		}
	})
}

// TestATicketOfALossIsNotAsked, while the line forms again: its user has a place already.
func TestATicketOfALossIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		tickets := fill(t, room, "a", "b")
		store.loses(t)
		for i, user := range []string{"a", "b"} {
			place, err := room.Check(t.Context(), "show-1", queue.Visitor{User: user, Ticket: tickets[user], Join: func(context.Context, queue.State) error {
				return errors.New("not now")
			}})
			if err != nil || place.Status != queue.Waiting || place.Ahead != i {
				t.Errorf("%s is %s with %d ahead: %v", user, place.Status, place.Ahead, err)
			}
		}
	})
}
