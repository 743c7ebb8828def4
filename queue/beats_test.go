package queue_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
)

// line lines up n users, and returns them with their tickets.
func line(t testing.TB, room *queue.Room, n int) (users []string, tickets map[string]string) {
	t.Helper()
	for i := range n {
		users = append(users, fmt.Sprintf("u%04d", i))
	}
	return users, fill(t, room, users...)
}

func TestBeatsAreToldOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		users, tickets := line(t, room, 10)
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		store.heard()
		for minute := range 3 {
			// Twenty polls of each user in a minute, a beat for each user.
			for range 20 {
				for _, user := range users {
					check(t, room, user, tickets[user])
				}
				time.Sleep(2 * time.Second)
			}
			require.NoError(t, room.Flush(context.Background()))
			orders := store.heard()
			slices.Sort(orders)
			if n := len(slices.Compact(slices.Clone(orders))); n != 10 || len(orders) != 10 {
				t.Errorf("minute %d: %d beats of %d", minute, len(orders), n)
			}
			time.Sleep(20 * time.Second)
		}
		assert.EqualValues(t, 30, room.Stats().Beats, "beats counted")
	})
}

func TestACrowdOfBeatsGoesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		users, tickets := line(t, room, 1200)
		check(t, room, users[0], tickets[users[0]])
		store.heard()
		store.count("visit")
		for _, user := range users[1:] { // within the second of the snapshot
			check(t, room, user, tickets[user])
		}
		if calls, orders := store.count("visit"), store.heard(); calls != 2 || len(orders) != 1000 {
			t.Errorf("%d calls with %d beats", calls, len(orders))
		}
		// The others ride along with a visit.
		check(t, room, "new", "")
		if calls, orders := store.count("visit"), store.heard(); calls != 1 || len(orders) != 199 {
			t.Errorf("%d calls with %d beats", calls, len(orders))
		}
	})
}

// Polls are faster than any store: a crowd waits for the store. Otherwise its signs
// of life would be lost, and its users removed.
func TestACrowdIsNoFasterThanTheStoreHearsOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		const callers = 64
		users, tickets := line(t, room, 400*callers)
		check(t, room, users[0], tickets[users[0]])
		store.heard()
		store.fails(func(context.Context, string, string) error {
			time.Sleep(10 * time.Millisecond)
			return nil
		})
		var crowd sync.WaitGroup
		for of := range slices.Chunk(users[1:], 400) {
			crowd.Go(func() {
				for _, user := range of {
					check(t, room, user, tickets[user])
				}
			})
		}
		crowd.Wait()
		require.NoError(t, room.Flush(context.Background()))
		orders := store.heard()
		slices.Sort(orders)
		if n := len(slices.Compact(orders)); n != len(users)-1 {
			t.Errorf("the store has heard of %d of %d", n, len(users)-1)
		}
	})
}

func TestALonelyPollIsHeardOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		tickets := fill(t, room, "a")
		for range 3 {
			store.heard()
			time.Sleep(time.Minute)
			check(t, room, "a", tickets["a"])
			assert.Len(t, store.heard(), 1, "beats")
		}
	})
}

func TestLostBeatsAreToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		users, tickets := line(t, room, 600)
		check(t, room, users[0], tickets[users[0]])
		store.heard()
		store.fails(away)
		for _, user := range users[1:] {
			check(t, room, user, tickets[user])
		}
		assert.EqualValues(t, 500, room.Stats().BeatsLost, "beats lost")
		store.fails(nil)
		time.Sleep(time.Second)
		for _, user := range users[1:] {
			check(t, room, user, tickets[user])
		}
		require.NoError(t, room.Flush(context.Background()))
		orders := store.heard()
		slices.Sort(orders)
		if n := len(slices.Compact(orders)); n != 599 {
			t.Errorf("the store has heard of %d of 599", n)
		}
	})
}

func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		users, tickets := line(t, room, 30)
		for _, user := range users {
			check(t, room, user, tickets[user])
		}
		store.heard()
		store.fails(away)
		assert.Error(t, room.Flush(context.Background()), "no error of a store that is away")
		store.fails(nil)
		time.Sleep(time.Minute)
		for _, user := range users {
			check(t, room, user, tickets[user])
		}
		store.heard()
		require.NoError(t, room.Flush(context.Background()))
		assert.Len(t, store.heard(), 29, "beats")
		if err := room.Flush(context.Background()); err != nil || len(store.heard()) != 0 {
			t.Errorf("an empty flush: %v", err)
		}
	})
}

// Polls keep a place in line; a silent user is swept.
func TestWhoPollsStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{Active: time.Hour})
		tickets := fill(t, room, "gone", "polls")
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- room.Run(ctx) }()
		for range 15 {
			time.Sleep(time.Minute)
			check(t, room, "inside", "")
			check(t, room, "polls", tickets["polls"])
		}
		state, err := room.State(ctx, "show-1")
		if err != nil || state.Waiting != 1 || state.Swept != 1 {
			t.Errorf("%+v, %v", state, err)
		}
		if place := check(t, room, "polls", tickets["polls"]); place.Position != 1 {
			t.Errorf("%+v", place)
		}
		cancel()
		assert.NoError(t, <-ended)
	})
}
