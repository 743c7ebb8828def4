package queue_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuetest"
)

// shelf is settings in memory, which can be made to fail.
type shelf struct {
	mu     sync.Mutex
	all    map[string]queue.Setting
	loads  int
	away   error
	saved  func()
	loaded func(n int)
}

func (s *shelf) Load(ctx context.Context, event string) (queue.Setting, error) {
	s.mu.Lock()
	s.loads++
	got, err, loads, loaded := s.all[event], errors.Join(s.away, ctx.Err()), s.loads, s.loaded
	s.mu.Unlock()
	if loaded != nil {
		loaded(loads)
	}
	return got, err
}

func (s *shelf) Save(ctx context.Context, event string, next queue.Setting) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.away, ctx.Err()); err != nil {
		return err
	}
	if s.all[event].Version != next.Version-1 {
		return queue.ErrConflict
	}
	if s.all == nil {
		s.all = map[string]queue.Setting{}
	}
	s.all[event] = next
	if s.saved != nil {
		s.saved()
	}
	return nil
}

// unanswered saves, and its answers are lost.
type unanswered struct{ *shelf }

func (u unanswered) Save(ctx context.Context, event string, s queue.Setting) error {
	return errors.Join(u.shelf.Save(ctx, event, s), errDatabase)
}

func TestASaveWithoutAnAnswer(t *testing.T) {
	_, err := open(t, newSpy(t), queue.Config{Settings: unanswered{&shelf{}}}).Pause(t.Context(), "show-1")
	require.ErrorIs(t, err, errDatabase)
	require.NotContains(t, err.Error(), "nothing was", "an admitter will pause the room")
}

func (s *shelf) fails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = err
}

var errDatabase = fault.MarkInfrastructure(errors.New("the database is away"))

func TestTheShelf(t *testing.T) { require.NoError(t, queuetest.CheckSettings(t.Context(), &shelf{})) }

// flush makes a store lose its data.
func (s *spy) flush(t *testing.T) {
	t.Helper()
	lost, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Store = lost
}

// TestAFlushedRoomStaysPaused: a paused sale whose store loses its data stays paused,
// with its threshold, until it is resumed.
func TestAFlushedRoomStaysPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, kept := newSpy(t), &shelf{}
		room := open(t, store, queue.Config{Settings: kept})
		ctx := queue.By(t.Context(), "kim", "a fire alarm")
		_, err := room.SetThreshold(ctx, "show-1", 2)
		require.NoError(t, err)
		_, err = room.Pause(ctx, "show-1")
		require.NoError(t, err)
		require.Equal(t, queue.Setting{Version: 2, Threshold: new(2), Paused: true, By: "kim", Why: "a fire alarm", At: time.Now().UTC()}, kept.all["show-1"])
		end := run(t, room)
		defer end()
		for range 3 {
			store.flush(t)
			for range 90 { // longer than the room settles
				for _, user := range []string{"a", "b", "c"} {
					require.Equal(t, queue.Waiting, check(t, room, user, "").Status)
				}
				time.Sleep(time.Second)
			}
			place := check(t, room, "a", "")
			require.True(t, place.Paused)
			require.Equal(t, 2, place.Threshold)
		}
		_, err = room.Resume(ctx, "show-1")
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		require.Equal(t, queue.Active, check(t, room, "a", "").Status)
		require.Equal(t, queue.Active, check(t, room, "b", "").Status)
		require.Equal(t, queue.Waiting, check(t, room, "c", "").Status)
	})
}

// TestARoomIsClosedUntilItsSettingsAnswer: until then no user enters, and the settings are
// asked once a second. When nothing was set, the defaults hold.
func TestARoomIsClosedUntilItsSettingsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, kept := newSpy(t), &shelf{away: errDatabase}
		room := open(t, store, queue.Config{Settings: kept})
		for range 10 {
			for range 10 {
				place := check(t, room, "a", "")
				require.Equal(t, queue.Waiting, place.Status)
				require.True(t, place.Paused)
				time.Sleep(100 * time.Millisecond)
			}
		}
		require.InDelta(t, 10, kept.loads, 1)
		kept.fails(nil)
		time.Sleep(time.Second)
		check(t, room, "a", "")
		loads := kept.loads
		require.NoError(t, room.Leave(t.Context(), "show-1", "a"))
		require.Equal(t, queue.Active, check(t, room, "new", "").Status)
		time.Sleep(time.Minute)
		check(t, room, "b", "")
		require.Equal(t, loads, kept.loads, "the settings of a room that is open are not asked for")
	})
}

// TestSettingsAreSavedFirst: a change that cannot be saved is not carried out.
func TestSettingsAreSavedFirst(t *testing.T) {
	store, kept := newSpy(t), &shelf{}
	room := open(t, store, queue.Config{Settings: kept})
	_, err := room.SetThreshold(t.Context(), "show-1", 5)
	require.NoError(t, err)
	kept.saved = func() { require.Zero(t, store.count("change")) }
	store.count("change")
	_, err = room.SetThreshold(t.Context(), "show-1", 6)
	require.NoError(t, err)
	kept.saved = nil
	kept.fails(errDatabase)
	for name, call := range map[string]func() (queue.State, error){
		"SetThreshold": func() (queue.State, error) { return room.SetThreshold(t.Context(), "show-1", 7) },
		"Pause":        func() (queue.State, error) { return room.Pause(t.Context(), "show-1") },
		"Resume":       func() (queue.State, error) { return room.Resume(t.Context(), "show-1") },
		"Clear":        func() (queue.State, error) { return room.Clear(t.Context(), "show-1") },
	} {
		_, err := call()
		require.ErrorIs(t, err, errDatabase, name)
		require.Equal(t, fault.Infrastructure, fault.Of(err), name)
	}
	state, err := room.State(t.Context(), "show-1")
	require.NoError(t, err, "looking needs no settings")
	require.Equal(t, 6, state.Threshold)
	require.EqualValues(t, 2, state.Settings)
}

// TestASavedChangeReachesTheStore: the store fails after a change was saved, and an
// admitter carries it out later.
func TestASavedChangeReachesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, kept := newSpy(t), &shelf{}
		room := open(t, store, queue.Config{Settings: kept})
		require.Equal(t, queue.Active, check(t, room, "a", "").Status, "the first visitor of a new room")
		store.fails(func(_ context.Context, call, _ string) error {
			if call == "change" {
				return errDatabase
			}
			return nil
		})
		_, err := room.Pause(t.Context(), "show-1")
		require.ErrorIs(t, err, queue.ErrUnavailable)
		store.fails(nil)
		end := run(t, room)
		defer end()
		time.Sleep(3 * time.Minute) // an admitter does not sweep in its first minutes
		state, err := room.State(t.Context(), "show-1")
		require.NoError(t, err)
		require.True(t, state.Paused)
		require.EqualValues(t, 1, state.Settings)
	})
}

// TestAnOperatorWhoIsOvertaken: the change of another, saved in between, is kept as well.
func TestAnOperatorWhoIsOvertaken(t *testing.T) {
	kept := &shelf{}
	room := open(t, newSpy(t), queue.Config{Settings: kept})
	kept.loaded = func(n int) {
		if n == 1 {
			require.NoError(t, kept.Save(t.Context(), "show-1", queue.Setting{Version: 1, Paused: true, By: "lee"}))
		}
	}
	state, err := room.SetThreshold(queue.By(t.Context(), "kim", ""), "show-1", 5)
	require.NoError(t, err)
	require.True(t, state.Paused)
	require.Equal(t, 5, state.Threshold)
	require.Equal(t, "kim", kept.all["show-1"].By)

	kept.loaded = func(int) { // without an end
		s := kept.all["show-1"]
		s.Version++
		require.NoError(t, kept.Save(t.Context(), "show-1", s))
	}
	_, err = room.SetThreshold(t.Context(), "show-1", 6)
	require.ErrorIs(t, err, queue.ErrConflict)
}

// TestSettingsThatPanic once, while a visitor refreshes the snapshot: the visitors behind
// still get snapshots.
func TestSettingsThatPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, kept := newSpy(t), &shelf{}
		room := open(t, store, queue.Config{Settings: kept})
		_, err := room.Pause(t.Context(), "show-1")
		require.NoError(t, err)
		ticket := check(t, room, "a", "").Ticket
		store.flush(t) // the next snapshot asks for the settings
		kept.loaded = func(int) { panic("broken") }
		time.Sleep(2 * time.Second)
		require.PanicsWithValue(t, "broken", func() { check(t, room, "a", ticket) })
		kept.loaded = nil
		time.Sleep(2 * time.Second)
		ticket = check(t, room, "a", "").Ticket
		store.count("look")
		for range 3 {
			time.Sleep(2 * time.Second)
			ticket = check(t, room, "a", ticket).Ticket
		}
		require.Equal(t, 3, store.count("look"))
	})
}
