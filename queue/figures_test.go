package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
)

// recording are rooms on one store with an admitter each, as processes have them.
func recording(t *testing.T, store driver.Store, processes int, cfg queue.Config) (rooms []*queue.Room, kill func(i int)) {
	t.Helper()
	stops := make([]func(), processes)
	for i := range processes {
		room := open(t, store, cfg)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = room.Run(ctx) // it returns nil
		}()
		stops[i] = sync.OnceFunc(func() { cancel(); <-done })
		t.Cleanup(stops[i])
		rooms = append(rooms, room)
	}
	return rooms, func(i int) { stops[i]() }
}

// Three processes: 10 people join each second for two minutes, and one enters each
// second. Each minute counts once, a killed process changes nothing, and the time in
// line is what it was.
func TestFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute))) // a minute begins
		store, err := memqueue.New(memqueue.Config{})
		require.NoError(t, err)
		rooms, kill := recording(t, store, 3, queue.Config{Threshold: 0, Batch: 1})
		_, err = rooms[0].SetThreshold(t.Context(), "e", 0)
		require.NoError(t, err)
		var tickets []string
		check := func(i int, ticket string) queue.Place {
			place, err := rooms[(i/7)%2].Check(t.Context(), "e", queue.Visitor{User: fmt.Sprint("u", i), Ticket: ticket})
			require.NoError(t, err)
			return place
		}
		for second := range 120 {
			for range 10 {
				tickets = append(tickets, check(len(tickets), "").Ticket)
			}
			if second == 60 {
				kill(2)
				_, err = rooms[0].SetThreshold(t.Context(), "e", 1000)
				require.NoError(t, err)
			}
			time.Sleep(time.Second)
		}
		for range 58 {
			time.Sleep(time.Second)
		}
		// Those whose turn has come turn up, two are done, five leave the line.
		for i := range 100 {
			check(i, tickets[i])
		}
		for i := range 2 {
			require.NoError(t, rooms[0].Done(t.Context(), "e", fmt.Sprint("u", i)))
		}
		for i := range 5 {
			require.NoError(t, rooms[1].Leave(t.Context(), "e", fmt.Sprint("u", 1000+i)))
		}
		time.Sleep(time.Minute)

		minutes, err := rooms[1].Figures(t.Context(), "e")
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(minutes), 4)
		var sum queue.Minute
		for i, m := range minutes {
			t.Logf("%+v", m)
			sum.Joined, sum.Admitted, sum.TurnedUp = sum.Joined+m.Joined, sum.Admitted+m.Admitted, sum.TurnedUp+m.TurnedUp
			sum.Finished, sum.Gone, sum.Timed = sum.Finished+m.Finished, sum.Gone+m.Gone, sum.Timed+m.Timed
			if i > 0 {
				require.Equal(t, time.Minute, m.Start.Sub(minutes[i-1].Start))
			}
		}
		state, err := rooms[0].State(t.Context(), "e")
		require.NoError(t, err)
		require.EqualValues(t, 1200, sum.Joined)
		require.InDelta(t, state.Entered+state.NoShows+int64(state.Entitled), sum.Admitted, 6)
		require.EqualValues(t, 100, sum.TurnedUp)
		require.EqualValues(t, 2, sum.Finished)
		require.EqualValues(t, 5, sum.Gone)
		require.InDelta(t, sum.Admitted, sum.Timed, 6)
		// 10 join in a second, and from the second minute on one enters: the user who
		// enters in second s joined in second (s-60)/10.
		require.InDelta(t, 600, minutes[0].Joined, 60)
		require.Zero(t, minutes[0].Admitted)
		require.InDelta(t, 60, minutes[1].Admitted, 6)
		require.InDelta(t, 87, minutes[1].Median.Seconds(), 10)
		require.InDelta(t, 111, minutes[1].P95.Seconds(), 13)
		require.InDelta(t, 141, minutes[2].Median.Seconds(), 16)
		require.InDelta(t, state.Waiting, minutes[len(minutes)-1].Waiting, 6)
	})
}

// A new epoch counts from 0.
func TestFiguresAfterClearing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memqueue.New(memqueue.Config{})
		require.NoError(t, err)
		rooms, _ := recording(t, store, 1, queue.Config{Threshold: 1})
		join := func(n int) {
			for i := range n {
				_, err := rooms[0].Check(t.Context(), "e", queue.Visitor{User: fmt.Sprint(i)})
				require.NoError(t, err)
			}
			time.Sleep(2 * time.Minute)
		}
		join(30)
		_, err = rooms[0].Clear(t.Context(), "e")
		require.NoError(t, err)
		join(20)
		minutes, err := rooms[0].Figures(t.Context(), "e")
		require.NoError(t, err)
		joined := int64(0)
		for _, m := range minutes {
			require.GreaterOrEqual(t, m.Joined, int64(0))
			joined += m.Joined
		}
		require.EqualValues(t, 50, joined)
	})
}

// TestFiguresOfLostWrites: a replica that takes over without the last writes knows of fewer users.
func TestFiguresOfLostWrites(t *testing.T) {
	store, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	now := time.Now().Unix() / 60
	for minute, n := range map[int64]int64{now - 1: 9, now: 7} {
		require.NoError(t, store.Record(t.Context(), "e", driver.Sample{Minute: minute, Epoch: 1, Joined: n, Entered: n, Returned: n}))
	}
	minutes, err := open(t, store, queue.Config{}).Figures(t.Context(), "e")
	require.NoError(t, err)
	last := minutes[len(minutes)-1]
	require.Zero(t, max(-last.Joined, -last.TurnedUp, -last.Returned), last)
}

// Figures that cannot be stored delay no user, and are stored later.
func TestFiguresAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &forgetful{}
		var err error
		store.MemoryStore, err = memqueue.New(memqueue.Config{})
		require.NoError(t, err)
		store.away = true
		rooms, _ := recording(t, store, 1, queue.Config{Threshold: 10})
		for i := range 20 {
			_, err := rooms[0].Check(t.Context(), "e", queue.Visitor{User: fmt.Sprint(i)})
			require.NoError(t, err)
		}
		time.Sleep(10 * time.Second)
		_, err = rooms[0].Figures(t.Context(), "e")
		require.ErrorIs(t, err, queue.ErrUnavailable)
		state, err := rooms[0].State(t.Context(), "e")
		require.NoError(t, err)
		require.Equal(t, 10, state.Active)
		store.set(false)
		time.Sleep(10 * time.Second)
		minutes, err := rooms[0].Figures(t.Context(), "e")
		require.NoError(t, err)
		require.Len(t, minutes, 1)
		require.EqualValues(t, 20, minutes[0].Joined)

		_, err = rooms[0].Figures(t.Context(), strings.Repeat("e", 1000))
		require.ErrorIs(t, err, queue.ErrInvalid)
		_, err = open(t, struct{ driver.Store }{store}, queue.Config{}).Figures(t.Context(), "e")
		require.ErrorIs(t, err, queue.ErrNoFigures)
	})
}

// TestSlowFiguresDoNotSlowThePace: the time of their calls is part of the tick.
func TestSlowFiguresDoNotSlowThePace(t *testing.T) {
	for name, away := range map[string]bool{"slow": false, "slow and away": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var let register
				store := &forgetful{away: away, takes: 700 * time.Millisecond}
				var err error
				store.MemoryStore, err = memqueue.New(memqueue.Config{})
				require.NoError(t, err)
				room := open(t, store, queue.Config{Batch: 2, Intervals: seldom, NotifyTurn: let.note})
				line(t, room, 100)
				_, err = room.SetThreshold(t.Context(), "show-1", 100)
				require.NoError(t, err)
				defer run(t, room)()
				if n := turnsOf(&let, 20); n < 38 || n > 42 {
					t.Errorf("%d turns in 20 s, want 40", n)
				}
			})
		})
	}
}

// forgetful is a store that cannot keep figures for a while, or takes long for them.
type forgetful struct {
	driver.MemoryStore
	mu    sync.Mutex
	away  bool
	takes time.Duration
}

func (f *forgetful) set(away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = away
}

func (f *forgetful) err() error {
	time.Sleep(f.takes)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return errors.New("away")
	}
	return nil
}

func (f *forgetful) Record(ctx context.Context, event string, s driver.Sample) error {
	if err := f.err(); err != nil {
		return err
	}
	return f.MemoryStore.Record(ctx, event, s)
}

func (f *forgetful) Samples(ctx context.Context, event string) ([]driver.Sample, error) {
	if err := f.err(); err != nil {
		return nil, err
	}
	return f.MemoryStore.Samples(ctx, event)
}

// A process that begins later reads from the minutes of the others when a user joined.
func TestTimeInLineAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute))) // a minute begins
		store, err := memqueue.New(memqueue.Config{})
		require.NoError(t, err)
		before, kill := recording(t, store, 1, queue.Config{})
		_, err = before[0].SetThreshold(t.Context(), "e", 0)
		require.NoError(t, err)
		for i := range 1200 { // 10 in a second
			_, err := before[0].Check(t.Context(), "e", queue.Visitor{User: fmt.Sprint("u", i)})
			require.NoError(t, err)
			time.Sleep(100 * time.Millisecond)
		}
		kill(0)
		after, _ := recording(t, store, 1, queue.Config{})
		_, err = after[0].Check(t.Context(), "e", queue.Visitor{User: "one more"})
		require.NoError(t, err)
		_, err = after[0].SetThreshold(t.Context(), "e", 600)
		require.NoError(t, err)
		time.Sleep(30 * time.Second)
		minutes, err := after[0].Figures(t.Context(), "e")
		require.NoError(t, err)
		last := minutes[len(minutes)-1]
		// All are silent, so 100 turns come each second: user i joined in second i/10, and
		// the turn came in second 121 + i/100.
		require.EqualValues(t, 1201, last.Timed)
		require.InDelta(t, 67, last.Median.Seconds(), 9)
		require.InDelta(t, 116, last.P95.Seconds(), 13)
	})
}

// The turns of lanes, and the stock, are figures of their minute.
func TestFiguresOfLanesAndStock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute))) // a minute begins
		store, err := memqueue.New(memqueue.Config{})
		require.NoError(t, err)
		var left atomic.Int64
		left.Store(40)
		rooms, _ := recording(t, store, 2, queue.Config{
			Batch: 20, Lanes: []queue.Lane{{Name: "member", Share: 0.5}}, Stock: func(context.Context, string) (int, error) { return int(left.Load()), nil },
		})
		_, err = rooms[0].SetThreshold(t.Context(), "e", 0)
		require.NoError(t, err)
		for i := range 60 {
			v := queue.Visitor{User: fmt.Sprint("u", i)}
			if i >= 30 {
				v.Lane = "member"
			}
			_, err := rooms[i%2].Check(t.Context(), "e", v)
			require.NoError(t, err)
		}
		_, err = rooms[0].SetThreshold(t.Context(), "e", 20)
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		_, err = rooms[0].SetThreshold(t.Context(), "e", 0)
		require.NoError(t, err)
		time.Sleep(58 * time.Second)
		left.Store(7)
		time.Sleep(time.Minute)
		state, err := rooms[1].State(t.Context(), "e")
		require.NoError(t, err)
		require.GreaterOrEqual(t, state.Laned, 9)
		minutes, err := rooms[1].Figures(t.Context(), "e")
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(minutes), 2)
		require.EqualValues(t, state.Laned, minutes[0].Laned)
		require.Zero(t, minutes[1].Laned)
		require.Equal(t, 40, minutes[0].Stock)
		require.Equal(t, 7, minutes[1].Stock)
		require.Zero(t, minutes[0].Returned+int64(minutes[0].Returning))
	})
}
