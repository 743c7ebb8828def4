package queue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/memqueue"
)

func TestALineFormsAgainAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		users, tickets := line(t, room, 5)
		for _, user := range users {
			check(t, room, user, tickets[user])
		}
		inside := check(t, room, "inside", "")
		time.Sleep(time.Minute)
		lost, err := memqueue.New(memqueue.Config{})
		require.NoError(t, err)
		store.Store = lost // as if it had been started again without its data
		_, err = room.SetThreshold(context.Background(), "show-1", 1)
		require.NoError(t, err)
		// They come back in another order, after a newcomer.
		late := check(t, room, "late", "")
		for _, i := range []int{3, 0, 4, 2, 1} {
			// A heartbeat lines no user up, and leaves the ticket as it is.
			beat, err := room.Heartbeat(context.Background(), "show-1", queue.Visitor{User: users[i], Ticket: tickets[users[i]]})
			if err != nil || beat.Status != queue.None || beat.Ticket != tickets[users[i]] {
				t.Errorf("%s, heartbeat: %+v, %v", users[i], beat, err)
			}
			place := check(t, room, users[i], tickets[users[i]])
			if place.Status != queue.Waiting || place.Settling == 0 || place.Ticket == tickets[users[i]] {
				t.Errorf("%s: %+v", users[i], place)
			}
			tickets[users[i]] = place.Ticket
		}
		if place := check(t, room, "inside", inside.Ticket); place.Position != 1 {
			t.Errorf("who was inside: %+v", place)
		}
		time.Sleep(time.Second)
		for i, user := range users {
			if place := check(t, room, user, tickets[user]); place.Position != i+2 || place.Ticket != tickets[user] {
				t.Errorf("%s: %+v", user, place)
			}
		}
		if last := check(t, room, "late", late.Ticket); late.Status != queue.Waiting || last.Position != len(users)+2 {
			t.Errorf("the newcomer before the first ticket: %+v, and then %+v", late, last)
		}
	})
}

// A visit tells the process of the loss: polls are no longer answered from its snapshot.
func TestALossIsSeenWithTheFirstVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{Refresh: time.Hour, MaxStale: time.Hour})
		tickets := fill(t, room, "a", "b")
		check(t, room, "b", tickets["b"])
		lost, err := memqueue.New(memqueue.Config{})
		require.NoError(t, err)
		store.Store = lost
		if place := check(t, room, "b", tickets["b"]); place.Position != 2 {
			t.Errorf("before anybody could know: %+v", place)
		}
		check(t, room, "new", "")
		if place := check(t, room, "b", tickets["b"]); place.Position != 1 || place.Ticket == tickets["b"] {
			t.Errorf("after it is known: %+v", place)
		}
	})
}

func TestTicketsOfAClearedRoomAreWorthNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := open(t, newSpy(t), queue.Config{})
		users, tickets := line(t, room, 3)
		for _, user := range users {
			check(t, room, user, tickets[user])
		}
		_, err := room.Clear(context.Background(), "show-1")
		require.NoError(t, err)
		if place := check(t, room, "new", ""); place.Status != queue.Active {
			t.Errorf("new: %+v", place)
		}
		for i := range users {
			user := users[len(users)-1-i]
			if place := check(t, room, user, tickets[user]); place.Position != i+1 || place.Settling != 0 {
				t.Errorf("%s: %+v", user, place)
			}
		}
	})
}

// The time until the opening in a snapshot runs down between two looks, too.
func TestTheOpeningComesNearer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresale(t, queue.Config{Refresh: 10 * time.Second, MaxStale: 10 * time.Second}, "", 2)
		time.Sleep(10 * time.Second) // until the snapshot knows of the line
		first := p.poll("user-0")
		time.Sleep(9 * time.Second)
		second := p.poll("user-0")
		if first.Opens-second.Opens != 9*time.Second || p.room.Stats().Snapshot != 2 {
			t.Errorf("it opens in %v, and 9 s later in %v", first.Opens, second.Opens)
		}
	})
}

// The settling time of a snapshot runs down between two looks.
func TestSettlingRunsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{Refresh: 10 * time.Second, MaxStale: 10 * time.Second})
		users, tickets := line(t, room, 1)
		time.Sleep(time.Minute)
		lost, err := memqueue.New(memqueue.Config{})
		require.NoError(t, err)
		store.Store = lost
		ticket := check(t, room, users[0], tickets[users[0]]).Ticket
		time.Sleep(10 * time.Second) // until the snapshot knows of the line
		first := check(t, room, users[0], ticket)
		time.Sleep(9 * time.Second)
		second := check(t, room, users[0], ticket)
		if first.Settling-second.Settling != 9*time.Second || first.Wait-second.Wait != 9*time.Second || room.Stats().Snapshot != 2 {
			t.Errorf("settling for %v, and 9 s later for %v", first.Settling, second.Settling)
		}
	})
}
