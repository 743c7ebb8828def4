package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/draws"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/draw"
	"github.com/millrace-go/millrace/queue/driver"
)

// Draw makes a spy a [driver.Drawer].
func (s *spy) Draw(ctx context.Context, event string, r driver.Rules, step driver.DrawStep) (driver.Drawn, error) {
	if err := s.called(ctx, fmt.Sprint("draw", step.Kind), event); err != nil {
		return driver.Drawn{}, err
	}
	return s.current().(driver.Drawer).Draw(ctx, event, r, step)
}

// presale is a room that opens in a minute, with users in it.
type presale struct {
	*testing.T
	store   *spy
	kept    *shelf
	room    *queue.Room
	opens   time.Time
	tickets map[string]string
}

func newPresale(t *testing.T, cfg queue.Config, beacon string, users int) *presale {
	t.Helper()
	p := &presale{T: t, store: newSpy(t), kept: &shelf{}, opens: time.Now().Add(time.Minute), tickets: map[string]string{}}
	cfg.Settings = p.kept
	p.room = open(t, p.store, cfg)
	_, err := p.room.OpenAt(t.Context(), "show-1", p.opens, beacon)
	require.NoError(t, err)
	for i := range users {
		p.poll(fmt.Sprint("user-", i))
	}
	return p
}

func (p *presale) poll(user string) queue.Place {
	p.Helper()
	place := check(p, p.room, user, p.tickets[user])
	p.tickets[user] = place.Ticket
	return place
}

func (p *presale) published() (draw.Published, []draw.Leaf) {
	p.Helper()
	pub, err := p.room.Published(p.Context(), "show-1")
	require.NoError(p, err)
	var leaves []draw.Leaf
	require.NoError(p, p.room.Leaves(p.Context(), "show-1", func(part []draw.Leaf) error {
		leaves = append(leaves, part...)
		return nil
	}))
	return pub, leaves
}

// order is that of what was published.
type order struct {
	placeOf func(draw.Leaf) int
	len     int
}

func (p *presale) order() order {
	p.Helper()
	pub, leaves := p.published()
	placeOf, err := pub.Verify(leaves)
	require.NoError(p, err)
	return order{placeOf, len(leaves)}
}

func (p *presale) placeOf(order order, user string) int {
	p.Helper()
	leaf, err := p.room.Receipt(p.Context(), "show-1", user)
	require.NoError(p, err)
	place := order.placeOf(leaf)
	require.Positive(p, place, user)
	return place
}

// enter lets the users with the first n places take them.
func (p *presale) enter(order order, n int) {
	p.Helper()
	for user := range p.tickets {
		leaf, err := p.room.Receipt(p.Context(), "show-1", user)
		require.NoError(p, err)
		if place := order.placeOf(leaf); place > 0 && place <= n {
			require.Equal(p, queue.Active, p.poll(user).Status)
		}
	}
	time.Sleep(2 * time.Second) // until the next snapshot
}

// TestAnOpening: users that come before the opening have no position, those of the draw
// have the places that anybody can compute, and later ones stand behind them.
func TestAnOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users = 1200
		p := newPresale(t, queue.Config{Threshold: 10, Batch: 10}, "", users)
		defer run(t, p.room)()
		before, none := p.published()
		require.Len(t, before.Commitment, draws.Size)
		require.Empty(t, none)
		require.Empty(t, before.Root)
		require.Empty(t, before.Seed)
		for turn := range 5 {
			if turn == 1 {
				p.store.mu.Lock()
				p.store.visits = nil
				p.store.mu.Unlock()
			}
			for _, i := range []int{0, 600, users - 1} {
				place := p.poll(fmt.Sprint("user-", i))
				require.Equal(t, queue.Waiting, place.Status)
				require.Zero(t, place.Position+place.Ahead+place.Behind)
				require.Equal(t, users, place.Waiting)
				require.InDelta(t, time.Until(p.opens), place.Opens, float64(2*time.Second))
				require.False(t, place.WaitKnown)
			}
			time.Sleep(10 * time.Second)
		}
		p.store.mu.Lock()
		for _, visits := range p.store.visits {
			require.Empty(t, visits, "polls with a ticket cost no visit, before the opening as after it")
		}
		p.store.mu.Unlock()
		time.Sleep(time.Until(p.opens) - 4*time.Second)
		late := p.poll("late")
		require.Equal(t, queue.Waiting, late.Status)
		require.Zero(t, late.Position)
		require.Positive(t, late.Opens)
		time.Sleep(2 * time.Second)
		state, err := p.room.State(t.Context(), "show-1")
		require.NoError(t, err)
		require.Equal(t, driver.Opened, state.Phase, "all is drawn before the opening")
		require.Zero(t, state.Active, "and no user is in before it")
		synctest.Wait()
		time.Sleep(time.Until(p.opens) + 3*time.Second) // three ticks of ten

		order := p.order()
		require.Equal(t, users, order.len)
		p.enter(order, 10)
		inside := 0
		for i := range users {
			user := fmt.Sprint("user-", i)
			want := p.placeOf(order, user)
			switch place := p.poll(user); place.Status {
			case queue.Active:
				inside++
				require.LessOrEqual(t, want, 10)
			default:
				require.Equal(t, want-10, place.Position, user)
				require.Zero(t, place.Opens)
			}
		}
		require.Equal(t, 10, inside)
		require.Equal(t, users-10+1, p.poll("late").Position)
		require.Equal(t, users-10+2, p.poll("later").Position)
		require.Equal(t, before.Commitment, p.mustPublished().Commitment)
	})
}

func (p *presale) mustPublished() draw.Published { pub, _ := p.published(); return pub }

// TestSilentUsersAreNotDrawn: users that were not heard of within two polls of a hidden
// tab take no part; a hidden tab does.
func TestSilentUsersAreNotDrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresale(t, queue.Config{Threshold: 1}, "", 0)
		p.opens = p.opens.Add(4 * time.Minute) // a sweep removes nobody so soon
		_, err := p.room.OpenAt(t.Context(), "show-1", p.opens, "")
		require.NoError(t, err, "an opening can be moved")
		defer run(t, p.room)()
		for i := range 20 {
			p.poll(fmt.Sprint("silent-", i))
			p.poll(fmt.Sprint("hidden-", i))
		}
		for time.Until(p.opens) > -time.Minute {
			for i := range 20 {
				p.poll(fmt.Sprint("hidden-", i))
			}
			time.Sleep(time.Minute)
		}
		require.Equal(t, 20, p.order().len)
		p.enter(p.order(), 1)
		require.Equal(t, 20, p.poll("silent-3").Position, "one is inside, and who was silent is last")
	})
}

// TestADrawGoesOn: the process that draws is killed after any number of steps, and
// another one brings it to the same end.
func TestADrawGoesOn(t *testing.T) {
	for _, kind := range []driver.DrawKind{driver.DrawFreeze, driver.DrawList, driver.DrawLeaves, driver.DrawRoot, driver.DrawSeed, driver.DrawMove, driver.DrawOpen} {
		for _, before := range []bool{true, false} { // the step, or its answer
			t.Run(fmt.Sprint(kind, before), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPresale(t, queue.Config{Threshold: 1}, "", 700)
					var mu sync.Mutex
					killed := false
					stop := run(t, p.room)
					p.store.fails(func(_ context.Context, call, _ string) error {
						mu.Lock()
						defer mu.Unlock()
						if call == fmt.Sprint("draw", kind) && before {
							killed = true
						}
						if killed {
							return errDatabase
						}
						if call == fmt.Sprint("draw", kind) {
							killed = true // with the next call
						}
						return nil
					})
					time.Sleep(time.Until(p.opens) - 4*time.Second)
					stop()
					require.True(t, killed)
					p.store.fails(nil)
					other := open(t, p.store, queue.Config{Threshold: 1, Settings: p.kept})
					defer run(t, other)()
					time.Sleep(7 * time.Second)
					p.room = other
					order := p.order()
					require.Equal(t, 700, order.len)
					p.enter(order, 1)
					for i := range 700 {
						user := fmt.Sprint("user-", i)
						if want, place := p.placeOf(order, user), p.poll(user); want > 1 {
							require.Equal(t, want-1, place.Position)
						}
					}
				})
			})
		}
	}
}

// TestASlowDraw: a process that needs longer between two steps than a holder is waited
// for still draws to the end, though another process would like to.
func TestASlowDraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := queue.Config{Threshold: 1, Timeout: 10 * time.Second}
		p := newPresale(t, cfg, "", 0)
		p.opens = time.Now().Add(4 * time.Minute) // processes that run for less remove no silent users
		_, err := p.room.OpenAt(t.Context(), "show-1", p.opens, "")
		require.NoError(t, err)
		cfg.Settings = p.kept
		defer run(t, p.room)()
		defer run(t, open(t, p.store, cfg))()
		for range 4 {
			for i := range 700 {
				p.poll(fmt.Sprint("user-", i))
			}
			time.Sleep(58 * time.Second)
		}
		p.store.fails(func(_ context.Context, call, _ string) error {
			if call == "sweep" {
				time.Sleep(4500 * time.Millisecond)
			}
			return nil
		})
		time.Sleep(time.Until(p.opens) + 10*time.Second)
		order := p.order()
		require.Equal(t, 700, order.len)
		p.enter(order, 1)
	})
}

// TestABeacon: its value is part of the order, it is asked for after the leaves were
// published, and the room stays closed without it.
func TestABeacon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *presale
		var there atomic.Bool
		cfg := queue.Config{Threshold: 1, Beacon: func(_ context.Context, name string) ([]byte, error) {
			require.Equal(t, "drand round 4711", name)
			pub, leaves := p.published()
			require.Len(t, leaves, 50)
			require.Len(t, pub.Root, draws.Size)
			require.Empty(t, pub.Seed, "the seed is not published before the beacon is known")
			if !there.Load() {
				return nil, errors.New("drand is away")
			}
			return []byte("a value"), nil
		}}
		p = newPresale(t, cfg, "drand round 4711", 50)
		defer run(t, p.room)()
		time.Sleep(time.Until(p.opens) + 10*time.Second)
		require.Zero(t, p.poll("user-1").Position)
		require.Equal(t, queue.Waiting, p.poll("late").Status)
		there.Store(true)
		time.Sleep(5 * time.Second)
		require.Equal(t, []byte("a value"), []byte(p.mustPublished().Value))
		require.Equal(t, 50, p.order().len)
		p.enter(p.order(), 1)
		require.Equal(t, 50, p.poll("late").Position)
	})
}

// TestALossNearTheOpening: a loss before the seed is published leads to a draw of those
// who came back; after it the order is that of the tickets, and the seed is not used again.
func TestALossNearTheOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresale(t, queue.Config{Threshold: 1}, "", 100)
		defer run(t, p.room)()
		time.Sleep(20 * time.Second)
		p.store.flush(t)
		for i := range 100 {
			require.Zero(t, p.poll(fmt.Sprint("user-", i)).Position)
		}
		time.Sleep(time.Until(p.opens) + 10*time.Second)
		order := p.order()
		require.Equal(t, 100, order.len)
		places := map[string]int{}
		for i := range 100 {
			user := fmt.Sprint("user-", i)
			places[user] = p.placeOf(order, user)
			p.poll(user)
		}
		time.Sleep(time.Second)
		p.store.flush(t)
		time.Sleep(time.Second)
		for i := range 100 {
			p.poll(fmt.Sprint("user-", i))
		}
		time.Sleep(2 * time.Second)
		p.poll("newcomer")
		for user, want := range places {
			place := p.poll(user)
			require.Equal(t, want, place.Position, "%s: %+v", user, place)
		}
		require.Equal(t, 101, p.poll("newcomer").Position)
	})
}

// TestALossWhileTheBeaconIsAsked leads to a draw of the users that are back by then, too.
func TestALossWhileTheBeaconIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *presale
		lost := make(chan struct{})
		flush := sync.OnceFunc(func() { p.store.flush(t); close(lost) })
		p = newPresale(t, queue.Config{Threshold: 1, Beacon: func(context.Context, string) ([]byte, error) {
			flush()
			return []byte("a value"), nil
		}}, "round 1", 3)
		defer run(t, p.room)()
		<-lost
		time.Sleep(500 * time.Millisecond)
		p.poll("user-0")
		time.Sleep(time.Until(p.opens) + 10*time.Second)
		require.Equal(t, 1, p.order().len)
	})
}

// TestARoomIsClearedBetweenItsListAndItsLeaves, and freezes again: the draw is among the users
// that came since.
func TestARoomIsClearedBetweenItsListAndItsLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresale(t, queue.Config{Threshold: 1, Timeout: 10 * time.Second}, "", 3)
		clears := sync.OnceFunc(func() {
			_, err := p.room.Clear(t.Context(), "show-1")
			require.NoError(t, err)
			p.poll("since-0")
			p.poll("since-1")
			time.Sleep(2500 * time.Millisecond) // the holder freezes it
		})
		p.store.fails(func(_ context.Context, call, _ string) error {
			if call == fmt.Sprint("draw", driver.DrawLeaves) {
				clears()
			}
			return nil
		})
		defer run(t, p.room)()
		time.Sleep(time.Until(p.opens) + 10*time.Second)
		order := p.order()
		require.Equal(t, 2, order.len)
		p.placeOf(order, "since-0")
		p.placeOf(order, "since-1")
	})
}

// TestARoomIsClearedWhileItsLeavesAreSaved, and freezes again: it does not open without a draw.
func TestARoomIsClearedWhileItsLeavesAreSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresale(t, queue.Config{Threshold: 1, Timeout: 10 * time.Second}, "", 3)
		var phase atomic.Int32 // 1: the leaves are complete, 2: the room was cleared
		p.store.fails(func(_ context.Context, call, _ string) error {
			if call == fmt.Sprint("draw", driver.DrawRoot) {
				phase.CompareAndSwap(0, 1)
			}
			return nil
		})
		p.kept.loaded = func(int) {
			if phase.CompareAndSwap(1, 2) {
				_, err := p.room.Clear(t.Context(), "show-1")
				require.NoError(t, err)
				p.poll("since-0")
				p.poll("since-1")
			}
		}
		defer run(t, p.room)()
		time.Sleep(time.Until(p.opens) + 10*time.Second)
		order := p.order()
		require.Equal(t, 2, order.len)
		p.placeOf(order, "since-0")
		p.placeOf(order, "since-1")
	})
}

// TestLeavesAreSavedWhileTheRoomIsCleared: the opening is over, as when they were before.
func TestLeavesAreSavedWhileTheRoomIsCleared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresale(t, queue.Config{Threshold: 1, Timeout: 10 * time.Second}, "", 3)
		version, cleared := p.kept.version(), make(chan queue.State, 1)
		clears := sync.OnceFunc(func() {
			go func() {
				state, err := p.room.Clear(t.Context(), "show-1")
				assert.NoError(t, err)
				cleared <- state
			}()
			synctest.Wait() // it has changed the settings
		})
		p.store.fails(func(_ context.Context, call, _ string) error {
			switch call {
			case fmt.Sprint("draw", driver.DrawRoot):
				clears()
			case "change":
				for p.kept.version() == version+1 {
					time.Sleep(time.Millisecond)
				}
			}
			return nil
		})
		defer run(t, p.room)()
		require.Zero(t, (<-cleared).Opens)
		require.Equal(t, queue.Active, p.poll("since-0").Status)
	})
}

func TestOpenAtRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		without := open(t, newSpy(t), queue.Config{})
		_, err := without.OpenAt(t.Context(), "show-1", time.Now().Add(time.Hour), "")
		require.ErrorIs(t, err, queue.ErrInvalid)
		require.ErrorContains(t, err, "Config.Settings")
		_, err = without.Published(t.Context(), "show-1")
		require.ErrorIs(t, err, queue.ErrNoDraw)

		p := newPresale(t, queue.Config{Threshold: 1}, "", 3)
		_, err = p.room.OpenAt(t.Context(), "show-1", time.Now().Add(9*time.Second), "")
		require.ErrorContains(t, err, "at least 10s from now")
		_, err = p.room.OpenAt(t.Context(), "show-1", time.Now().Add(time.Hour), "drand round 1")
		require.ErrorContains(t, err, "Config.Beacon")
		other := open(t, p.store, queue.Config{Settings: p.kept})
		_, err = other.Gate(t.Context(), "gated", driver.Gate{On: true})
		require.NoError(t, err)
		_, err = other.OpenAt(t.Context(), "gated", time.Now().Add(time.Hour), "")
		require.ErrorContains(t, err, "front gate")

		commitment := p.mustPublished().Commitment
		p.opens = p.opens.Add(time.Minute)
		_, err = p.room.OpenAt(t.Context(), "show-1", p.opens, "")
		require.NoError(t, err)
		require.Equal(t, commitment, p.mustPublished().Commitment, "a later opening keeps the seed")
		require.True(t, p.opens.Equal(p.mustPublished().Opens), "and is published at once")
		defer run(t, p.room)()
		time.Sleep(time.Until(p.opens) + 5*time.Second)
		_, err = p.room.OpenAt(t.Context(), "show-1", time.Now().Add(time.Hour), "")
		require.ErrorContains(t, err, "clear it")
		p.store.flush(t)
		_, err = p.room.OpenAt(t.Context(), "show-1", time.Now().Add(time.Hour), "")
		require.ErrorContains(t, err, "clear it")
		require.True(t, p.opens.Equal(p.mustPublished().Opens), "an opening that is over stays in the settings")
		_, err = p.room.Clear(t.Context(), "show-1")
		require.NoError(t, err)
		require.Equal(t, queue.Active, check(t, p.room, "new", "").Status, "a cleared room is open")
		time.Sleep(2 * time.Second)
		_, err = p.room.OpenAt(t.Context(), "show-1", time.Now().Add(time.Hour), "")
		require.NoError(t, err)
		require.NotEqual(t, commitment, p.mustPublished().Commitment, "a new opening has a new seed")
		state, err := p.room.OpenAt(t.Context(), "show-1", time.Time{}, "")
		require.NoError(t, err)
		require.Zero(t, state.Opens)
	})
}

// tooLate sets the opening, which reaches the settings just before the room freezes, and the
// store just after it.
func (p *presale) tooLate(at time.Time, beacon string) {
	p.Helper()
	time.Sleep(time.Until(p.opens) - driver.FreezeBefore - 200*time.Millisecond)
	p.store.fails(func(_ context.Context, call, _ string) error {
		if p.kept.version() > 1 && call == "change" {
			p.store.fails(nil)
			time.Sleep(900 * time.Millisecond)
		}
		return nil
	})
	_, err := p.room.OpenAt(p.Context(), "show-1", at, beacon)
	require.ErrorIs(p, err, queue.ErrInvalid)
	require.ErrorContains(p, err, "froze before")
}

func (s *shelf) version() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all["show-1"].Version
}

// TestAnOpeningThatIsTakenBackTooLate takes place: else the room would be closed for ever.
func TestAnOpeningThatIsTakenBackTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresale(t, queue.Config{Threshold: 1}, "", 3)
		defer run(t, p.room)()
		p.tooLate(time.Time{}, "")
		time.Sleep(time.Until(p.opens) + 3*time.Second)
		require.True(t, p.opens.Equal(p.mustPublished().Opens), "the settings have the opening that holds")
		require.Equal(t, 3, p.order().len)
		p.enter(p.order(), 1)
	})
}

// TestABeaconThatIsNamedTooLate is neither asked nor published.
func TestABeaconThatIsNamedTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresale(t, queue.Config{Threshold: 1, Beacon: func(_ context.Context, name string) ([]byte, error) {
			return []byte("the value of " + name), nil
		}}, "round 1", 3)
		drawing := open(t, p.store, queue.Config{Threshold: 1, Settings: p.kept, Beacon: func(_ context.Context, name string) ([]byte, error) {
			return []byte("the value of " + name), nil
		}})
		defer run(t, drawing)()
		go func() { // it knows the first name until after the freeze
			time.Sleep(time.Until(p.opens) - driver.FreezeBefore - 300*time.Millisecond)
			_, _ = drawing.Published(t.Context(), "show-1")
		}()
		p.tooLate(p.opens.Add(time.Hour), "round 2")
		time.Sleep(time.Until(p.opens) + 3*time.Second)
		pub := p.mustPublished()
		require.Equal(t, "the value of "+pub.Beacon, string(pub.Value))
		require.True(t, p.opens.Equal(pub.Opens), "the settings have the opening that holds")
	})
}

// TestAnOpeningThatIsNotSaved leaves the settings as they were, also those that give out what
// they keep.
func TestAnOpeningThatIsNotSaved(t *testing.T) {
	beacon := func(context.Context, string) ([]byte, error) { return nil, errors.New("away") }
	kept := &shelf{}
	room := open(t, newSpy(t), queue.Config{Settings: kept, Beacon: beacon})
	_, err := room.OpenAt(t.Context(), "show-1", time.Now().Add(time.Hour), "round 1")
	require.NoError(t, err)
	kept.loaded = func(int) { kept.fails(errDatabase) }
	_, err = room.OpenAt(t.Context(), "show-1", time.Now().Add(time.Hour), "round 2")
	require.ErrorIs(t, err, errDatabase)
	require.Equal(t, "round 1", kept.all["show-1"].Draw.Beacon)
}

// TestLeavesOfARoomThatIsCleared while they are read are an error, and no shorter list.
func TestLeavesOfARoomThatIsCleared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresale(t, queue.Config{Threshold: 1}, "", driver.MaxLeaves+1)
		defer run(t, p.room)()
		time.Sleep(time.Until(p.opens) + 3*time.Second)
		_, leaves := p.published()
		require.Len(t, leaves, driver.MaxLeaves+1)
		err := p.room.Leaves(t.Context(), "show-1", func(part []draw.Leaf) error {
			_, err := p.room.Clear(t.Context(), "show-1")
			return err
		})
		require.ErrorContains(t, err, "2000 of the leaves")
	})
}

// TestACrowdAsksForReceipts while the settings hang: one of it waits for the timeout, and the
// others for that one.
func TestACrowdAsksForReceipts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := open(t, newSpy(t), queue.Config{Settings: &hanging{}})
		var all sync.WaitGroup
		start := time.Now()
		for i := range 100 {
			all.Go(func() {
				_, err := room.Receipt(context.Background(), "show-1", fmt.Sprint(i))
				require.Error(t, err)
			})
		}
		all.Wait()
		require.LessOrEqual(t, time.Since(start), time.Second)
	})
}

// hanging are settings that answer nothing.
type hanging struct{ shelf }

func (*hanging) Load(ctx context.Context, _ string) (queue.Setting, error) {
	<-ctx.Done()
	return queue.Setting{}, ctx.Err()
}

// TestTheSeedIsNotReadable: it is in neither the store nor the settings until it is
// published, and processes without the secret cannot draw.
func TestTheSeedIsNotReadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresale(t, queue.Config{Threshold: 1}, "", 3)
		defer run(t, p.room)()
		before, err := p.kept.Load(t.Context(), "show-1")
		require.NoError(t, err)
		kept := before.Draw
		time.Sleep(time.Until(p.opens) + 5*time.Second)
		pub := p.mustPublished()
		require.NotEmpty(t, pub.Seed)
		require.NotContains(t, string(kept.Secret), string(pub.Seed))
	})
}
