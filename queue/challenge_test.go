package queue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
)

// challengeAtJoin is the switch of the challenge as a newcomer's Join finds it.
func challengeAtJoin(t *testing.T, r *queue.Room, user string) (found *bool) {
	t.Helper()
	asked := 0
	_, err := r.Check(t.Context(), "show-1", queue.Visitor{User: user, Join: func(_ context.Context, s queue.State) error {
		asked++
		found = s.Challenge
		return nil
	}})
	require.NoError(t, err)
	require.Equal(t, 1, asked)
	return found
}

// The challenge that an operator switches is saved first, holds in all processes, and outlives
// a loss of the store's data.
func TestChallengeOfAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, kept := newSpy(t), &shelf{}
		cfg := queue.Config{Settings: kept}
		room, other := open(t, store, cfg), open(t, store, cfg)
		require.Nil(t, challengeAtJoin(t, room, "a"))
		require.Nil(t, challengeAtJoin(t, other, "b"))

		state, err := room.SetChallenge(queue.By(t.Context(), "kim", "bots"), "show-1", true)
		require.NoError(t, err)
		require.Equal(t, new(true), state.Challenge)
		require.Equal(t, queue.Setting{Version: 1, Challenge: new(true), By: "kim", Why: "bots", At: time.Now().UTC()}, kept.all["show-1"])
		require.Equal(t, new(true), challengeAtJoin(t, room, "c"))
		time.Sleep(1001 * time.Millisecond) // Config.Refresh
		require.Equal(t, new(true), challengeAtJoin(t, other, "d"))

		_, err = other.Pause(t.Context(), "show-1")
		require.NoError(t, err)
		_, err = other.Clear(t.Context(), "show-1")
		require.NoError(t, err)
		restarted := open(t, store, cfg)
		require.Equal(t, new(true), challengeAtJoin(t, restarted, "e"), "the first newcomer of a process")
		store.flush(t)
		require.Equal(t, new(true), challengeAtJoin(t, open(t, store, cfg), "f"), "the first of a room that has lost its data")
		require.Equal(t, new(true), challengeAtJoin(t, room, "g"))

		kept.fails(errDatabase)
		store.flush(t)
		time.Sleep(time.Minute)
		require.Equal(t, new(true), challengeAtJoin(t, room, "x"), "while the settings cannot be brought in")
		_, err = room.SetChallenge(t.Context(), "show-1", false)
		require.ErrorIs(t, err, errDatabase)
		require.Equal(t, new(true), challengeAtJoin(t, room, "h"))
		kept.fails(nil)
		_, err = other.SetChallenge(t.Context(), "show-1", false)
		require.NoError(t, err)
		time.Sleep(1001 * time.Millisecond)
		require.Equal(t, new(false), challengeAtJoin(t, room, "i"))
	})
}

// A join is decided by what the process knows: newcomers of a room that is in use cost no call
// of the store besides their own.
func TestAJoinCostsNoCallMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		_, err := room.SetChallenge(t.Context(), "show-1", true)
		require.NoError(t, err)
		for i := range 100 {
			require.Equal(t, new(true), challengeAtJoin(t, room, string(rune('A'+i))))
			time.Sleep(100 * time.Millisecond)
		}
		require.Equal(t, []int{100, 1, 0}, []int{store.count("visit"), store.count("change"), store.count("look")})
		time.Sleep(time.Minute) // without a request
		require.Equal(t, new(true), challengeAtJoin(t, room, "late"))
		require.Equal(t, 1, store.count("look"))
	})
}
