package queue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
)

// house is the stock of an event.
type house struct {
	mu    sync.Mutex
	seats int
	away  error
	asked int
}

func (h *house) left(context.Context, string) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	return h.seats, h.away
}

func (h *house) set(seats int, away error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seats, h.away = seats, away
}

func (h *house) free() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seats
}

// take takes a seat, if there is one.
func (h *house) take() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seats == 0 {
		return false
	}
	h.seats--
	return true
}

func (h *house) giveBack() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seats++
}

// turnsOf are those of the next seconds, in a room whose turns no user takes.
func turnsOf(let *register, seconds int) int {
	time.Sleep(time.Duration(seconds) * time.Second)
	synctest.Wait()
	return len(let.users("show-1"))
}

// newHouse is a room with users in line, none of which counts as silent soon.
func newHouse(t *testing.T, h *house, let *register, users int) (*spy, *queue.Room, map[string]string) {
	t.Helper()
	store := newSpy(t)
	room := open(t, store, queue.Config{Threshold: 100, Stock: h.left, NotifyTurn: let.note, Intervals: seldom, NoShow: 550 * time.Second})
	_, err := room.Pause(t.Context(), "show-1")
	require.NoError(t, err)
	tickets := map[string]string{}
	for i := range users {
		user := fmt.Sprint("u", i)
		tickets[user] = check(t, room, user, "").Ticket
	}
	_, err = room.Resume(t.Context(), "show-1")
	require.NoError(t, err)
	return store, room, tickets
}

func TestNobodyEntersAnEmptyHouse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var let register
		h := &house{}
		_, room, tickets := newHouse(t, h, &let, 20)
		defer run(t, room)()
		require.Zero(t, turnsOf(&let, 30), "turns at an empty house")
		place := check(t, room, "u0", tickets["u0"])
		require.True(t, place.SoldOut)
		require.False(t, place.WaitKnown, "%+v", place)
		require.True(t, room.Stats().Events["show-1"].HeldByStock())
		require.Equal(t, queue.Waiting, check(t, room, "late", "").Status, "a newcomer enters an empty house")

		h.set(3, nil) // three are returned
		require.Equal(t, 3, turnsOf(&let, 3))
		place = check(t, room, "u0", tickets["u0"])
		require.Equal(t, queue.Active, place.Status)
		require.False(t, place.SoldOut)
		time.Sleep(2 * time.Second) // a snapshot
		require.False(t, check(t, room, "u4", tickets["u4"]).WaitKnown, "the stock does not reach position 5")

		h.set(0, nil)
		require.Zero(t, turnsOf(&let, 2))
		place = check(t, room, "u1", tickets["u1"])
		require.True(t, place.Turn && place.SoldOut && place.Status == queue.Waiting, "a turn when the stock is gone: %+v", place)
		h.set(2, nil)
		require.Zero(t, turnsOf(&let, 2), "the stock is for those whose turn has come")
		require.Equal(t, queue.Active, check(t, room, "u1", tickets["u1"]).Status)
	})
}

// TestTheFirstVisitorAsksForTheStock: without it a process admits none, and with it the
// first visitor enters at once, also where no admitter runs.
func TestTheFirstVisitorAsksForTheStock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &house{seats: 1}
		room := open(t, newSpy(t), queue.Config{Stock: h.left})
		require.Equal(t, queue.Active, check(t, room, "a", "").Status)
		require.Equal(t, queue.Waiting, check(t, room, "b", "").Status)
		require.Equal(t, 1, h.asked)
	})
}

// A visitor that comes while the first one asks for the stock of a new room is not
// sent to the end of a line that need not be.
func TestVisitorsWaitForTheStockOfANewRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, answer := make(chan struct{}), make(chan struct{})
		room := open(t, newSpy(t), queue.Config{Threshold: 100, Settings: &shelf{}, Stock: func(context.Context, string) (int, error) {
			close(asked)
			<-answer
			return 100, nil
		}})
		first, second := make(chan queue.Place, 1), make(chan queue.Place, 1)
		go func() { first <- check(t, room, "first", "") }()
		<-asked
		go func() { second <- check(t, room, "second", "") }()
		synctest.Wait()
		close(answer)
		require.Equal(t, queue.Active, (<-first).Status)
		require.Equal(t, queue.Active, (<-second).Status)
	})
}

// TestAStockThatDoesNotAnswer: its last answer holds for a minute, and users that leave in
// this time return nothing; then the threshold counts alone.
func TestAStockThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var let register
		h := &house{seats: 3}
		_, room, tickets := newHouse(t, h, &let, 200)
		defer run(t, room)()
		require.Equal(t, 3, turnsOf(&let, 2))
		h.set(0, errors.New("away"))
		for _, user := range []string{"u0", "u1", "u2"} {
			require.Equal(t, queue.Active, check(t, room, user, tickets[user]).Status)
			require.NoError(t, room.Done(t.Context(), "show-1", user))
		}
		require.Zero(t, turnsOf(&let, 50))
		stats := room.Stats()
		require.True(t, stats.Events["show-1"].Stock.Known)
		require.Positive(t, stats.NoStock)
		require.Greater(t, stats.Stock, stats.NoStock)
		require.Equal(t, 100, turnsOf(&let, 15))
		require.False(t, room.Stats().Events["show-1"].Stock.Known)

		h.set(0, nil) // it answers again
		require.Zero(t, turnsOf(&let, 2))
		require.True(t, room.Stats().Events["show-1"].SoldOut())
	})
}

// TestASoldOutHouseStaysSo while the stock does not answer.
func TestASoldOutHouseStaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var let register
		h := &house{}
		_, room, _ := newHouse(t, h, &let, 20)
		defer run(t, room)()
		require.Zero(t, turnsOf(&let, 2))
		h.set(5, errors.New("away"))
		require.Zero(t, turnsOf(&let, 600))
		h.set(5, nil)
		require.Equal(t, 5, turnsOf(&let, 2))
	})
}

// TestAStockThatNeverAnswered holds the first users up for a minute, and no longer.
func TestAStockThatNeverAnswered(t *testing.T) {
	for name, stock := range map[string]func(context.Context, string) (int, error){
		"fails":        func(context.Context, string) (int, error) { return 5, errors.New("away") },
		"panics":       func(context.Context, string) (int, error) { panic("broken") },
		"is negative":  func(context.Context, string) (int, error) { return -1, nil },
		"is cancelled": func(ctx context.Context, _ string) (int, error) { <-ctx.Done(); return 0, ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var let register
				room := open(t, newSpy(t), queue.Config{Threshold: 100, Stock: stock, NotifyTurn: let.note, Intervals: seldom})
				require.Equal(t, queue.Waiting, check(t, room, "a", "").Status)
				defer run(t, room)()
				require.Zero(t, turnsOf(&let, 50))
				require.Equal(t, 1, turnsOf(&let, 15))
			})
		})
	}
}

// TestAHangingStock holds up neither its event for long nor the others, and one call of it
// hangs at a time.
func TestAHangingStock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var let register
		var hangs, inFlight, most atomic.Int64
		release := make(chan struct{})
		defer close(release)
		h := &house{seats: 4}
		stock := func(ctx context.Context, event string) (int, error) {
			most.Store(max(most.Load(), inFlight.Add(1)))
			defer inFlight.Add(-1)
			if event == "show-1" && hangs.Load() > 0 {
				<-release
			}
			return h.left(ctx, event)
		}
		store := newSpy(t)
		room := open(t, store, queue.Config{Threshold: 100, Stock: stock, NotifyTurn: let.note, Intervals: seldom, Concurrency: 1})
		require.Equal(t, queue.Active, check(t, room, "first", "").Status)
		hangs.Store(1)
		most.Store(0)
		for i := range 10 {
			check(t, room, fmt.Sprint("u", i), "")
			_, err := room.Check(t.Context(), "show-2", queue.Visitor{User: fmt.Sprint("u", i)})
			require.NoError(t, err)
		}
		require.NoError(t, room.Leave(t.Context(), "show-1", "first"))
		stop := run(t, room)
		require.Zero(t, turnsOf(&let, 5), "three have entered, and one has gone that may have bought")
		require.NotZero(t, store.count("admit"))
		h.set(20, nil)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Len(t, let.users("show-2"), 6, "the other event waits for the one that hangs")
		require.LessOrEqual(t, most.Load(), int64(2))
		stats := room.Stats()
		require.EqualValues(t, 1, stats.NoStock, "a call in flight failed once, however often its answer was missing")
		require.Greater(t, stats.Stock, stats.NoStock)
		stop() // does not wait for the call that hangs
	})
}

// TestAUserThatLeavesWhileTheStockIsAskedFor may have bought what the answer still has.
func TestAUserThatLeavesWhileTheStockIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &house{seats: 2}
		var room *queue.Room
		var buys func()
		room = open(t, newSpy(t), queue.Config{Threshold: 10, Stock: func(ctx context.Context, event string) (int, error) {
			left, err := h.left(ctx, event)
			if buys != nil {
				buys()
			}
			return left, err
		}})
		check(t, room, "a", "")
		check(t, room, "b", "")
		ticket := check(t, room, "c", "").Ticket
		buys = func() {
			buys = nil
			require.True(t, h.take())
			require.NoError(t, room.Done(context.Background(), "show-1", "a"))
		}
		defer run(t, room)()
		for range 10 {
			time.Sleep(300 * time.Millisecond)
			place := check(t, room, "c", ticket)
			ticket = place.Ticket
			require.Equal(t, queue.Waiting, place.Status, "one seat is left, and it is for b")
		}
		require.NoError(t, room.Done(t.Context(), "show-1", "b"))
		time.Sleep(3 * time.Second)
		require.Equal(t, queue.Active, check(t, room, "c", ticket).Status, "b bought nothing")
	})
}

// TestAProcessThatStartsWhileAUserBuys gets the answer from before that, too.
func TestAProcessThatStartsWhileAUserBuys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &house{seats: 2}
		store := newSpy(t)
		room := open(t, store, queue.Config{Threshold: 10, Stock: h.left})
		check(t, room, "a", "")
		check(t, room, "b", "")
		second := open(t, store, queue.Config{Threshold: 10, Stock: func(ctx context.Context, event string) (int, error) {
			left, err := h.left(ctx, event)
			require.True(t, h.take())
			require.NoError(t, room.Done(context.Background(), "show-1", "a"))
			return left, err
		}})
		require.Equal(t, queue.Waiting, check(t, second, "c", "").Status, "one seat is left, and it is for b")
	})
}

// TestARoomIsClearedWhileTheStockIsAskedFor, and a user enters, buys and leaves: the answer is
// from before that.
func TestARoomIsClearedWhileTheStockIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &house{seats: 2}
		store := newSpy(t)
		room := open(t, store, queue.Config{Threshold: 10, Stock: h.left})
		check(t, room, "a", "")
		require.NoError(t, room.Done(t.Context(), "show-1", "a"))
		second := open(t, store, queue.Config{Threshold: 10, Stock: func(ctx context.Context, event string) (int, error) {
			left, err := h.left(ctx, event)
			_, failed := room.Clear(ctx, event)
			require.NoError(t, failed)
			require.Equal(t, queue.Active, check(t, room, "b", "").Status)
			require.True(t, h.take())
			require.NoError(t, room.Done(context.Background(), event, "b"))
			return left, err
		}})
		require.Equal(t, queue.Active, check(t, second, "c", "").Status)
		require.Equal(t, queue.Waiting, check(t, second, "d", "").Status, "one seat is left, and it is for c")
	})
}

// TestSeveralAdmittersAndTheirStock: one whose calls fail takes back no answer of another.
func TestSeveralAdmittersAndTheirStock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var let register
		h := &house{seats: 7}
		store, room, _ := newHouse(t, h, &let, 50)
		broken := open(t, store, queue.Config{Threshold: 100, NotifyTurn: let.note, Intervals: seldom, NoShow: 550 * time.Second,
			Stock: func(context.Context, string) (int, error) { return 0, errors.New("away") }})
		for _, one := range []*queue.Room{room, room, broken} {
			defer run(t, one)()
		}
		require.Equal(t, 7, turnsOf(&let, 2))
		h.set(9, nil)
		require.Equal(t, 2, turnsOf(&let, 2))
		time.Sleep(3 * time.Minute)
		s := broken.Stats().Events["show-1"]
		require.True(t, s.Stock.Known && s.Stock.Left == 9 && s.Now.Sub(s.Stock.At) < 12*time.Second, "%+v", s)
	})
}

// TestAKnownStockIsNotToldAgain before it is old, but users that left may have bought.
func TestAKnownStockIsNotToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &house{seats: 2}
		store := newSpy(t)
		cfg := queue.Config{Stock: h.left, Tick: 100 * time.Millisecond}
		room := open(t, store, cfg)
		for _, user := range []string{"a", "b", "c"} {
			check(t, room, user, "")
		}
		defer run(t, room)()
		defer run(t, open(t, store, cfg))() // of another process
		time.Sleep(time.Second)
		store.count("change")
		time.Sleep(time.Minute)
		n := store.count("change")
		require.True(t, 5 <= n && n <= 12, "it was told %d times in a minute", n)

		require.NoError(t, room.Leave(t.Context(), "show-1", "a"))
		time.Sleep(300 * time.Millisecond)
		require.Equal(t, queue.Active, check(t, room, "c", "").Status, "a has left and bought nothing")
		h.set(7, nil)
		time.Sleep(1100 * time.Millisecond) // nobody waits
		require.Equal(t, 7, room.Stats().Events["show-1"].Stock.Left)
	})
}

// TestAProcessWithoutStockFollowsIt: what one process was told holds in all.
func TestAProcessWithoutStockFollowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &house{}
		store := newSpy(t)
		check(t, open(t, store, queue.Config{Stock: h.left}), "a", "")
		other := open(t, store, queue.Config{})
		place := check(t, other, "b", "")
		require.True(t, place.Status == queue.Waiting && place.SoldOut, "%+v", place)
	})
}

// TestAStockThatIsNotAskedForAnyMore is forgotten by the first admitter that has none.
func TestAStockThatIsNotAskedForAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var let register
		store, _, _ := newHouse(t, &house{}, &let, 5)
		room := open(t, store, queue.Config{Threshold: 100, NotifyTurn: let.note, Intervals: seldom})
		defer run(t, room)()
		require.Equal(t, 5, turnsOf(&let, 3))
	})
}

// logged is a log.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// TestTheStockIsLogged once when it fails, and once when it answers again.
func TestTheStockIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		h := &house{seats: 3}
		room := open(t, newSpy(t), queue.Config{Stock: h.left, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		check(t, room, "a", "")
		defer run(t, room)()
		for range 2 {
			h.set(3, errors.New("away"))
			time.Sleep(20 * time.Second)
			h.set(3, nil)
			time.Sleep(20 * time.Second)
		}
		require.Equal(t, 2, log.count("cannot be asked for"))
		require.Equal(t, 2, log.count("is known again"))
	})
}

// TestAStockThatIsAskedForAlready has not failed: the admitter asks while a visitor comes.
func TestAStockThatIsAskedForAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		store := newSpy(t)
		check(t, open(t, store, queue.Config{}), "first", "")
		asked, answer := make(chan struct{}), make(chan struct{})
		room := open(t, store, queue.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Stock: func(context.Context, string) (int, error) {
			if asked != nil {
				close(asked)
				<-answer
				asked = nil
			}
			return 100, nil
		}})
		defer run(t, room)()
		<-asked
		check(t, room, "second", "")
		close(answer)
		time.Sleep(2 * time.Second)
		require.Zero(t, room.Stats().NoStock)
		require.Zero(t, log.count("stock"), log.text.String())
	})
}

// TestASlowStockDoesNotSlowThePace: the time of its calls is part of the tick.
func TestASlowStockDoesNotSlowThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var let register
		room := open(t, newSpy(t), queue.Config{Batch: 2, Intervals: seldom, NotifyTurn: let.note,
			Stock: func(context.Context, string) (int, error) {
				time.Sleep(700 * time.Millisecond)
				return driver.MaxStock, nil
			}})
		line(t, room, 100)
		_, err := room.SetThreshold(t.Context(), "show-1", 100)
		require.NoError(t, err)
		defer run(t, room)()
		if n := turnsOf(&let, 20); n < 38 || n > 42 {
			t.Errorf("%d turns in 20 s, want 40", n)
		}
	})
}
