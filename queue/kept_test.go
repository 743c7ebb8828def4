package queue_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue"
)

// polls has users poll with their tickets once a minute.
func polls(t *testing.T, room *queue.Room, tickets map[string]string, d time.Duration, users ...string) map[string]queue.Place {
	t.Helper()
	places := map[string]queue.Place{}
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Minute) {
		for _, user := range users {
			place := check(t, room, user, tickets[user])
			if place.Ticket != "" {
				tickets[user] = place.Ticket
			}
			places[user] = place
		}
	}
	return places
}

// A phone is locked for 40 minutes: its place is kept, and moves no other user.
func TestAPhoneThatWasLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := open(t, newSpy(t), queue.Config{})
		tickets := fill(t, room, "phone", "b", "c")
		_, err := room.SetThreshold(t.Context(), "show-1", 0)
		require.NoError(t, err)
		stop := run(t, room)
		defer stop()
		places := polls(t, room, tickets, 40*time.Minute, "b", "c")
		require.Equal(t, []int{1, 2}, []int{places["b"].Position, places["c"].Position})

		old := tickets["phone"]
		place, err := room.Heartbeat(t.Context(), "show-1", queue.Visitor{User: "phone", Ticket: old})
		require.NoError(t, err)
		require.Equal(t, queue.None, place.Status)
		require.Equal(t, old, place.Ticket, "a heartbeat uses no kept place")
		place = check(t, room, "phone", old)
		require.Equal(t, queue.Waiting, place.Status)
		require.True(t, place.Returner)
		require.Equal(t, 1, place.Position)
		require.Equal(t, 0, place.Behind)
		require.NotEmpty(t, place.Ticket)
		again := check(t, room, "phone", place.Ticket)
		require.True(t, again.Returner)
		places = polls(t, room, tickets, 2*time.Minute, "b", "c", "phone")
		require.Equal(t, []int{1, 2, 1}, []int{places["b"].Position, places["c"].Position, places["phone"].Position})
		state, err := room.State(t.Context(), "show-1")
		require.NoError(t, err)
		require.Equal(t, []int{3, 1, 0}, []int{state.Waiting, state.Returning, state.Entitled})
		require.EqualValues(t, 1, room.Stats().Events["show-1"].Returned)

		_, err = room.SetThreshold(t.Context(), "show-1", 3)
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for _, user := range []string{"b", "c", "phone"} {
			require.Equal(t, queue.Active, check(t, room, user, tickets[user]).Status, user)
		}
		require.NoError(t, room.Done(t.Context(), "show-1", "phone"))
		check(t, room, "d", "")
		place = check(t, room, "phone", old)
		require.False(t, place.Returner)
	})
}

// A returner is asked as a user that joins is, and one that is refused keeps the place.
func TestAReturnIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		tickets := fill(t, room, "phone", "b")
		_, err := room.SetThreshold(t.Context(), "show-1", 0)
		require.NoError(t, err)
		stop := run(t, room)
		polls(t, room, tickets, 20*time.Minute, "b")
		stop()
		refusal, asked := errors.New("not now"), 0
		back := func(user string) (queue.Place, error) {
			return room.Check(t.Context(), "show-1", queue.Visitor{User: user, Ticket: tickets[user], Join: func(context.Context, queue.State) error {
				asked++
				return refusal
			}})
		}
		for range 3 {
			_, err := back("phone")
			require.ErrorIs(t, err, refusal)
			_, err = back("b")
			require.NoError(t, err)
		}
		require.Equal(t, 3, asked)
		refusal = nil
		place, err := back("phone")
		require.NoError(t, err)
		require.True(t, place.Returner)
		place, err = back("phone")
		require.NoError(t, err)
		require.True(t, place.Returner)
		require.Equal(t, 4, asked)
	})
}

// A crowd comes back at once: each polls by the turns that it has to wait for.
func TestReturnersPollByTheirTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		intervals := []queue.Interval{{UpTo: 8, Every: time.Second}, {UpTo: math.MaxInt, Every: 10 * time.Second}}
		room := open(t, newSpy(t), queue.Config{Intervals: intervals, Random: func() float64 { return 0 }})
		users := []string{"a", "b", "c", "d"}
		tickets := fill(t, room, users...)
		_, err := room.SetThreshold(t.Context(), "show-1", 0)
		require.NoError(t, err)
		stop := run(t, room)
		time.Sleep(20 * time.Minute)
		stop()
		for i, user := range users {
			place := check(t, room, user, tickets[user])
			require.Equal(t, i+1, place.Position)
			require.Equal(t, i < 2, place.NextPoll == time.Second, place.NextPoll)
		}
	})
}

func TestLanesOfARoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns []string
		store := newSpy(t)
		room := open(t, store, queue.Config{
			Lanes:      []queue.Lane{{Name: "member", Share: 0.5}},
			NotifyTurn: func(n queue.Notice) { turns = append(turns, n.User) },
		})
		fill(t, room, "a", "b", "c", "d")
		for i, user := range []string{"m", "n"} {
			place, err := room.Check(t.Context(), "show-1", queue.Visitor{User: user, Lane: "member"})
			require.NoError(t, err)
			require.Equal(t, 5+i, place.Position)
		}
		_, err := room.Check(t.Context(), "show-1", queue.Visitor{User: "x", Lane: "nobility"})
		require.ErrorIs(t, err, queue.ErrInvalid)
		require.Equal(t, fault.Permanent, fault.Of(err))
		_, err = room.SetThreshold(t.Context(), "show-1", 5)
		require.NoError(t, err)
		stop := run(t, room)
		time.Sleep(time.Second)
		stop()
		require.Equal(t, []string{"a", "m", "b", "n"}, turns)
		state, err := room.State(t.Context(), "show-1")
		require.NoError(t, err)
		require.Equal(t, []int{2, 2}, []int{state.Entitled, state.Laned})
		place := check(t, room, "c", "")
		require.Equal(t, 3, place.Position)
		// The lane may take half of the turns before it.
		without := open(t, store, queue.Config{Threshold: 1})
		require.Equal(t, 2*check(t, without, "c", "").WaitHigh, place.WaitHigh)
	})
}
