package queue_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
)

// run runs an admitter until the returned function, which waits for its end.
func run(t testing.TB, room *queue.Room) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- room.Run(ctx) }()
	return func() {
		cancel()
		assert.NoError(t, <-ended)
	}
}

// register records the admissions.
type register struct {
	mu      sync.Mutex
	notices []queue.Notice
}

func (r *register) note(n queue.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = append(r.notices, n)
}

// users are those admitted since the last call, without the one whom fill admits at
// once.
func (r *register) users(event string) (users []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = slices.DeleteFunc(r.notices, func(n queue.Notice) bool {
		if n.Event == event && n.User != "inside" {
			users = append(users, n.User)
		}
		return n.Event == event
	})
	return users
}

// seldom are intervals in which no user whose turn has come counts as silent.
var seldom = []queue.Interval{{UpTo: math.MaxInt, Every: 50 * time.Second}}

func TestAdmissionInOrderAtThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var let register
		room := open(t, newSpy(t), queue.Config{Batch: 3, NotifyTurn: let.note, Intervals: seldom})
		users, _ := line(t, room, 10)
		_, err := room.SetThreshold(context.Background(), "show-1", 9)
		require.NoError(t, err)
		defer run(t, room)()
		for second, want := range [][]string{users[:3], users[3:6], users[6:8], nil} {
			synctest.Wait()
			if got := let.users("show-1"); !slices.Equal(got, want) {
				t.Errorf("second %d: %v, want %v", second, got, want)
			}
			time.Sleep(time.Second)
		}
		require.NoError(t, room.Leave(context.Background(), "show-1", "inside"))
		time.Sleep(time.Second)
		synctest.Wait()
		if got := let.users("show-1"); !slices.Equal(got, users[8:9]) {
			t.Errorf("after one has left: %v", got)
		}
		assert.EqualValues(t, 9, room.Stats().Admitted, "counted")
	})
}

// Without a line the store is asked once a second, however short the tick is. A line that
// begins goes on at the tick's pace at once.
func TestARoomWithoutALineIsLookedAtSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var let register
		store := newSpy(t)
		room := open(t, store, queue.Config{Threshold: 1, Tick: 50 * time.Millisecond, Batch: 1, NotifyTurn: let.note, Intervals: seldom})
		check(t, room, "inside", "")
		defer run(t, room)()
		time.Sleep(1500 * time.Millisecond)
		store.count("admit")
		time.Sleep(time.Minute)
		n := store.count("admit")
		require.True(t, 59 <= n && n <= 61, "the store was asked %d times in a minute", n)

		time.Sleep(10 * time.Millisecond) // it has just been asked
		check(t, room, "a", "")
		check(t, room, "b", "")
		_, err := room.SetThreshold(t.Context(), "show-1", 3)
		require.NoError(t, err)
		time.Sleep(120 * time.Millisecond) // two ticks
		synctest.Wait()
		require.Equal(t, []string{"a", "b"}, let.users("show-1"), "of a line that has just begun")
	})
}

// One notice comes for each turn, and one for each admission, from the line or at once,
// which has the fields a token needs. A panic of the listener does no harm.
func TestANotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var let, turns register
		room := open(t, newSpy(t), queue.Config{Notify: func(n queue.Notice) {
			let.note(n)
			panic("broken")
		}, NotifyTurn: func(n queue.Notice) {
			turns.note(n)
			panic("broken")
		}})
		now := time.Now()
		fill(t, room, "a")
		_, err := room.SetThreshold(context.Background(), "show-1", 2)
		require.NoError(t, err)
		stop := run(t, room)
		synctest.Wait()
		stop()
		if n := turns.notices; len(let.notices) != 1 || len(n) != 1 || n[0].Event != "show-1" || n[0].User != "a" || n[0].Entry != (queue.Entry{}) || n[0].Time.Sub(now).Abs() > time.Millisecond {
			t.Fatalf("at the turn: %v, %v", n, let.notices)
		}
		check(t, room, "a", "")
		for range 2 { // a sight of an admission is no admission
			for i, user := range []string{"inside", "a"} {
				place := check(t, room, user, "")
				if len(let.notices) != 2 || place.Status != queue.Active {
					t.Fatalf("%v, %+v", let.notices, place)
				}
				n := let.notices[i]
				if n.Event != "show-1" || n.User != user || n.Entry.ID != place.Entry.ID || n.Entry.Left != 600*time.Second || n.Time.Sub(now).Abs() > time.Millisecond {
					t.Errorf("%+v", n)
				}
			}
		}
		assert.EqualValues(t, 3, room.Stats().Panics, "panics counted")
		require.NoError(t, room.Leave(context.Background(), "show-1", "a"))
		check(t, room, "a", "") // let in again
		if last := let.notices[len(let.notices)-1]; len(let.notices) != 3 || last.User != "a" || last.Entry.ID == let.notices[1].Entry.ID {
			t.Errorf("%v", let.notices)
		}
	})
}

// Users of one crowd who enter at once have a notice each, and no others have one.
func TestNoticesOfACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var let register
		store := newSpy(t)
		rooms := []*queue.Room{open(t, store, queue.Config{Threshold: 20, Notify: let.note}), open(t, store, queue.Config{Threshold: 20, Notify: let.note})}
		var active []string
		var mu sync.Mutex
		var crowd sync.WaitGroup
		for i := range 100 {
			crowd.Go(func() {
				user := fmt.Sprint("user-", i)
				place, err := rooms[i%2].Check(context.Background(), "show-1", queue.Visitor{User: user})
				assert.NoError(t, err)
				if place.Status == queue.Active {
					mu.Lock()
					defer mu.Unlock()
					active = append(active, user)
				}
			})
		}
		crowd.Wait()
		got := let.users("show-1")
		slices.Sort(got)
		slices.Sort(active)
		if len(active) != 20 || !slices.Equal(got, active) {
			t.Errorf("told of %v, inside are %v", got, active)
		}
	})
}

func TestABatchOfManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var let register
		room := open(t, newSpy(t), queue.Config{Batch: 2000, NotifyTurn: let.note})
		users, _ := line(t, room, 1800)
		_, err := room.SetThreshold(context.Background(), "show-1", 5000)
		require.NoError(t, err)
		stop := run(t, room)
		synctest.Wait()
		if got := let.users("show-1"); !slices.Equal(got, users) {
			t.Errorf("%d in the first tick", len(got))
		}
		stop()
	})
}

// Several instances keep the pace of one, although none knows of the others.
func TestSeveralAdmitters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		var let register
		rooms := make([]*queue.Room, 4)
		for i := range rooms {
			rooms[i] = open(t, store, queue.Config{Batch: 5, NotifyTurn: let.note, Intervals: seldom})
		}
		users, _ := line(t, rooms[0], 100)
		_, err := rooms[0].SetThreshold(context.Background(), "show-1", 50)
		require.NoError(t, err)
		for _, room := range rooms {
			defer run(t, room)()
			time.Sleep(130 * time.Millisecond)
		}
		time.Sleep(5*time.Second - 4*130*time.Millisecond - time.Millisecond)
		synctest.Wait()
		if got := let.users("show-1"); !slices.Equal(got, users[:25]) {
			t.Errorf("in five ticks of 5: %d, %v", len(got), got)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := let.users("show-1"); !slices.Equal(got, users[25:49]) {
			t.Errorf("up to the threshold: %d more", len(got))
		}
	})
}

// A store that is slow to answer does not slow the admissions.
func TestASlowStoreKeepsThePace(t *testing.T) {
	for name, slow := range map[string]func(*spy) driver.Store{
		"on the way there": func(s *spy) driver.Store {
			s.fails(func(context.Context, string, string) error { time.Sleep(200 * time.Millisecond); return nil })
			return s
		},
		"on the way back": func(s *spy) driver.Store { return lateAnswers{s} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newSpy(t)
				quick := open(t, store, queue.Config{Batch: 1})
				users, _ := line(t, quick, 20)
				_, err := quick.SetThreshold(context.Background(), "show-1", 50)
				require.NoError(t, err)
				var let register
				stop := run(t, open(t, slow(store), queue.Config{Batch: 1, NotifyTurn: let.note, Intervals: seldom}))
				time.Sleep(10*time.Second + 800*time.Millisecond)
				stop()
				if got := let.users("show-1"); !slices.Equal(got, users[:11]) {
					t.Errorf("in eleven ticks of one: %v", got)
				}
			})
		})
	}
}

// lateAnswers answers Admit late.
type lateAnswers struct{ *spy }

func (s lateAnswers) Admit(ctx context.Context, event string, r driver.Rules) (driver.Admission, error) {
	a, err := s.spy.Admit(ctx, event, r)
	time.Sleep(200 * time.Millisecond)
	return a, err
}

// An event whose calls hang, panic or fail does not hold up the others.
func TestOneBadEventHoldsUpNoOther(t *testing.T) {
	for name, bad := range map[string]func(ctx context.Context) error{
		"hangs":  func(ctx context.Context) error { return hang(ctx, "", "") },
		"panics": func(context.Context) error { panic("broken") },
		"fails":  func(context.Context) error { return errors.New("no") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newSpy(t)
				var let register
				room := open(t, store, queue.Config{Batch: 1, NotifyTurn: let.note, Intervals: seldom})
				users, _ := line(t, room, 20)
				ctx := context.Background()
				_, err := room.SetThreshold(ctx, "show-1", 50)
				require.NoError(t, err)
				for i := range 10 {
					_, err := room.Check(ctx, fmt.Sprint("bad-", i), queue.Visitor{User: "x"})
					require.NoError(t, err)
				}
				store.fails(func(ctx context.Context, call, event string) error {
					if strings.HasPrefix(event, "bad-") {
						return bad(ctx)
					}
					return nil
				})
				stop := run(t, room)
				time.Sleep(10*time.Second - time.Millisecond)
				synctest.Wait()
				if got := let.users("show-1"); !slices.Equal(got, users[:10]) {
					t.Errorf("in ten ticks of one: %v", got)
				}
				stop()
			})
		})
	}
}

func TestAdmissionGoesOnAfterTheStoreWasAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		var let register
		room := open(t, store, queue.Config{Batch: 1, NotifyTurn: let.note, Intervals: seldom})
		users, _ := line(t, room, 20)
		_, err := room.SetThreshold(context.Background(), "show-1", 50)
		require.NoError(t, err)
		defer run(t, room)()
		for i := range 3 {
			store.fails(away)
			time.Sleep(5 * time.Second)
			synctest.Wait()
			let.users("show-1")
			store.fails(nil)
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if got := let.users("show-1"); len(got) < 2 {
				t.Errorf("round %d: %v", i, got)
			}
		}
		if place := check(t, room, users[19], ""); place.Status != queue.Waiting {
			t.Errorf("%+v", place)
		}
	})
}
