package queue_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/token"
)

func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := open(t, newSpy(t), queue.Config{Random: func() float64 { return 0.5 }})
		tickets := fill(t, room, "a", "b", "c")
		inside := check(t, room, "inside", "")
		if inside.Position != 0 || inside.Entry.ID == "" || inside.Entry.Left != 600*time.Second || inside.NextPoll != 3150*time.Millisecond {
			t.Errorf("inside: %+v", inside)
		}
		time.Sleep(2 * time.Second)
		for i, user := range []string{"a", "b", "c"} {
			place := check(t, room, user, tickets[user])
			// The one inside may stay for 10 min, and so may each of those ahead.
			if turn := time.Duration(i + 1); place.Wait < turn*5*time.Minute || place.Wait > turn*6*time.Minute || place.WaitLow >= place.Wait || place.WaitHigh < turn*10*time.Minute {
				t.Errorf("%s waits for %v, from %v to %v", user, place.Wait, place.WaitLow, place.WaitHigh)
			}
			place.Wait, place.WaitLow, place.WaitHigh = 0, 0, 0
			want := queue.Place{
				Status: queue.Waiting, Position: i + 1, Ahead: i, Behind: 2 - i, WaitKnown: true, Keep: 600 * time.Second,
				NextPoll: 1050 * time.Millisecond, Active: 1, Threshold: 1, Waiting: 3, Ticket: tickets[user],
			}
			if place != want {
				t.Errorf("%s: %+v\nwant %+v", user, place, want)
			}
		}
		assert.NoError(t, room.Verify(context.Background(), "show-1", "inside", inside.Entry.ID), "verify")
	})
}

// The most important property: a poll with a ticket costs the store nothing.
func TestAPollWithATicketCostsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		tickets := fill(t, room, "a", "b")
		store.count("visit")
		check(t, room, "a", tickets["a"]) // makes the snapshot, and tells of a
		if looks, visits := store.count("look"), store.count("visit"); looks != 1 || visits != 1 {
			t.Fatalf("the first poll: %d looks, %d visits", looks, visits)
		}
		ctx := context.Background()
		for range 100 {
			for user, ticket := range tickets {
				v := queue.Visitor{User: user, Ticket: ticket}
				for _, poll := range []func(context.Context, string, queue.Visitor) (queue.Place, error){room.Check, room.Heartbeat, room.Status} {
					if place, err := poll(ctx, "show-1", v); err != nil || place.Status != queue.Waiting {
						t.Fatalf("%s: %+v, %v", user, place, err)
					}
				}
			}
		}
		if looks, visits := store.count("look"), store.count("visit"); looks != 0 || visits != 0 {
			t.Errorf("600 polls: %d looks, %d visits", looks, visits)
		}
		assert.EqualValues(t, 601, room.Stats().Snapshot, "polls by snapshot")
	})
}

func TestATicketThatIsNotTheVisitorsCountsAsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		tickets := fill(t, room, "a", "b")
		other, err := token.NewRing(strings.Repeat("o", 32))
		require.NoError(t, err)
		forged := seal.NewTickets(other).Seal(seal.Ticket{Event: "show-1", User: "b", Epoch: 1, Order: 1})
		place := check(t, room, "b", tickets["b"])
		for name, ticket := range map[string]string{
			"another's": tickets["a"], "forged": forged, "garbage": "x", "cut": tickets["b"][:20], "huge": strings.Repeat("x", 1<<20),
		} {
			if got := check(t, room, "b", ticket); got.Ahead != 1 || got.Ticket != place.Ticket {
				t.Errorf("%s: %+v", name, got)
			}
		}
		// A number of another epoch is not that of this line.
		sealer := seal.NewTickets(ring(t))
		another, err := sealer.Open(tickets["a"], "show-1", "a")
		require.NoError(t, err)
		another.User, another.Epoch = "b", another.Epoch+1
		elsewhere := sealer.Seal(another)
		if got := check(t, room, "b", elsewhere); got.Ahead != 1 || got.Ticket != place.Ticket {
			t.Errorf("of another epoch: %+v", got)
		}
		assert.EqualValues(t, 5, room.Stats().Tickets, "foreign tickets counted")
		// That of another event lines no user up at its order there.
		got, err := room.Check(context.Background(), "show-2", queue.Visitor{User: "b", Ticket: tickets["b"]})
		if err != nil || got.Status != queue.Active {
			t.Errorf("another event: %+v, %v", got, err)
		}
	})
}

func TestHeartbeatLinesNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := open(t, newSpy(t), queue.Config{})
		fill(t, room)
		ctx := context.Background()
		for _, poll := range []func(context.Context, string, queue.Visitor) (queue.Place, error){room.Heartbeat, room.Status} {
			place, err := poll(ctx, "show-1", queue.Visitor{User: "nobody"})
			if err != nil || place.Status != queue.None || place.Ticket != "" || place.Entry.ID != "" || place.WaitKnown {
				t.Errorf("%+v, %v", place, err)
			}
		}
	})
}

func TestTheTurnComesWithTheNextPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		tickets := fill(t, room, "a", "b", "c")
		check(t, room, "b", tickets["b"])
		ctx := context.Background()
		require.NoError(t, room.Done(ctx, "show-1", "inside"))
		_, err := room.SetThreshold(ctx, "show-1", 2)
		require.NoError(t, err)
		_, err = store.Admit(ctx, "show-1", driver.Rules{Threshold: 2, Active: time.Minute, Seen: time.Hour, NoShow: time.Minute, Tick: time.Second, Batch: 100, SweepEvery: time.Minute, Settle: time.Second})
		require.NoError(t, err)
		time.Sleep(time.Second)
		for _, user := range []string{"a", "b"} {
			place := check(t, room, user, tickets[user])
			if place.Status != queue.Active || place.Ticket != tickets[user] {
				t.Errorf("%s: %+v", user, place)
			}
			assert.NoErrorf(t, room.Verify(ctx, "show-1", user, place.Entry.ID), "verify %s", user)
			assert.ErrorIsf(t, room.Verify(ctx, "show-1", "c", place.Entry.ID), queue.ErrNotActive, "c by the entry of %s", user)
		}
		time.Sleep(2 * time.Second)
		if place := check(t, room, "c", tickets["c"]); place.Position != 1 {
			t.Errorf("c: %+v", place)
		}
	})
}

func TestAnEntryIsWorthNothingAfterLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := open(t, newSpy(t), queue.Config{})
		ctx := context.Background()
		first := check(t, room, "a", "").Entry.ID
		require.NoError(t, room.Leave(ctx, "show-1", "a"))
		assert.ErrorIs(t, room.Verify(ctx, "show-1", "a", first), queue.ErrNotActive, "after leaving")
		second := check(t, room, "a", "").Entry.ID
		assert.ErrorIs(t, room.Verify(ctx, "show-1", "a", first), queue.ErrNotActive, "the first entry after the second")
		assert.NoError(t, room.Verify(ctx, "show-1", "a", second), "the second")
		_, err := room.Clear(ctx, "show-1")
		require.NoError(t, err)
		for _, id := range []string{second, "", "x", "1-1"} {
			assert.ErrorIsf(t, room.Verify(ctx, "show-1", "a", id), queue.ErrNotActive, "%q after clearing", id)
		}
	})
}

func TestWhatCannotBeIsRefusedBeforeTheStore(t *testing.T) {
	store := newSpy(t)
	room := open(t, store, queue.Config{})
	ctx := context.Background()
	for name, call := range map[string]func() error{
		"event":     func() error { _, err := room.Check(ctx, "a{b}", queue.Visitor{User: "u"}); return err },
		"user":      func() error { _, err := room.Check(ctx, "a", queue.Visitor{}); return err },
		"leave":     func() error { return room.Leave(ctx, "", "u") },
		"done":      func() error { return room.Done(ctx, "a", "") },
		"verify":    func() error { return room.Verify(ctx, "a b", "u", "1-1") },
		"threshold": func() error { _, err := room.SetThreshold(ctx, "a", -1); return err },
		"pause":     func() error { _, err := room.Pause(ctx, ""); return err },
		"gate":      func() error { _, err := room.Gate(ctx, "a", driver.Gate{On: true, Positions: -1}); return err },
	} {
		if err := call(); !errors.Is(err, queue.ErrInvalid) || fault.Of(err) != fault.Permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(store.calls) != 0 || len(room.Stats().Events) != 0 {
		t.Errorf("the store was asked: %v", store.calls)
	}
}

func TestOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := open(t, newSpy(t), queue.Config{})
		ctx := context.Background()
		tickets := fill(t, room, "a", "b")
		if place := check(t, room, "b", tickets["b"]); place.Paused || !place.WaitKnown {
			t.Errorf("before: %+v", place)
		}
		state, err := room.Pause(ctx, "show-1")
		if err != nil || !state.Paused || state.Waiting != 2 {
			t.Errorf("pause: %+v, %v", state, err)
		}
		// A user with a ticket sees it without waiting for the next snapshot.
		if place := check(t, room, "b", tickets["b"]); !place.Paused || place.WaitKnown || place.Wait != 0 {
			t.Errorf("paused: %+v", place)
		}
		if state, err = room.Resume(ctx, "show-1"); err != nil || state.Paused {
			t.Errorf("resume: %+v, %v", state, err)
		}
		if state, err = room.SetThreshold(ctx, "show-1", 0); err != nil || state.Threshold != 0 {
			t.Errorf("threshold: %+v, %v", state, err)
		}
		if place := check(t, room, "b", tickets["b"]); place.WaitKnown || place.Threshold != 0 {
			t.Errorf("threshold 0: %+v", place)
		}
		if state, err = room.Gate(ctx, "show-1", driver.Gate{On: true, Positions: 10}); err != nil || !state.Gated {
			t.Errorf("gate: %+v, %v", state, err)
		}
		place, err := room.Check(ctx, "show-1", queue.Visitor{User: "d"})
		if err != nil || place.Status != queue.Gated || place.Ticket != "" {
			t.Errorf("without a position: %+v, %v", place, err)
		}
		for _, v := range []queue.Visitor{{User: "e", Position: 12}, {User: "d", Position: 11}} {
			if place, err = room.Check(ctx, "show-1", v); err != nil || place.Position != 3 {
				t.Errorf("position %d: %+v, %v", v.Position, place, err)
			}
		}
		if state, err = room.State(ctx, "show-1"); err != nil || state.Waiting != 4 || state.Active != 1 {
			t.Errorf("state: %+v, %v", state, err)
		}
		if state, err = room.Clear(ctx, "show-1"); err != nil || state.Waiting != 0 || state.Active != 0 {
			t.Errorf("clear: %+v, %v", state, err)
		}
	})
}

// inside is a store by which each user is inside by one admission.
type inside struct{ *spy }

func (inside) Visit(_ context.Context, _ string, _ driver.Rules, _ driver.Beats, v []driver.Visit) (driver.Visited, error) {
	seen := driver.Visited{State: queue.State{Epoch: 3}}
	for range v {
		seen.Outcomes = append(seen.Outcomes, driver.Outcome{Status: queue.Active, Order: 5})
	}
	return seen, nil
}

// The room compares the admission as well: an order of a lost epoch may be that of
// another admission in the next.
func TestAnEntryIsOfItsEpochAndOrder(t *testing.T) {
	room := open(t, inside{newSpy(t)}, queue.Config{})
	for id, want := range map[string]error{"3-5": nil, "3-6": queue.ErrNotActive, "4-5": queue.ErrNotActive} {
		assert.ErrorIsf(t, room.Verify(context.Background(), "show-1", "a", id), want, "%s", id)
	}
	assert.Equal(t, "3-5", check(t, room, "a", "").Entry.ID, "the entry")
}
