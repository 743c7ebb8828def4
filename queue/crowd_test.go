package queue_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
)

// Visits that arrive while calls are in flight share the next call, each call in the
// order of arrival.
func TestACrowdSharesCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		fill(t, room)
		store.count("visit")
		store.fails(func(context.Context, string, string) error { time.Sleep(10 * time.Millisecond); return nil })
		places := make([]queue.Place, 1201)
		var all sync.WaitGroup
		for i := range places {
			all.Go(func() { places[i] = check(t, room, fmt.Sprint(i), "") })
			synctest.Wait()
		}
		all.Wait()
		// One alone, 24 in parallel, two full calls, and the rest: each call in its order.
		assert.Equal(t, 5, store.count("visit"), "calls for 1,201")
		taken := make([]bool, len(places))
		last := 0
		for i, place := range places {
			if place.Ahead < 0 || place.Ahead >= len(places) || taken[place.Ahead] || place.Behind < 0 {
				t.Fatalf("the %d. has %d ahead and %d behind", i+1, place.Ahead, place.Behind)
			}
			taken[place.Ahead] = true
			if newCall := i == 1 || i == 25 || i == 525 || i == 1025; !newCall && i > 0 && place.Ahead != last+1 {
				t.Fatalf("the %d. has %d ahead, who came before has %d", i+1, place.Ahead, last)
			}
			last = place.Ahead
		}
	})
}

// Many callers, several processes, and an operator: under the race detector.
func TestManyAtOnce(t *testing.T) {
	store := newSpy(t)
	rooms := make([]*queue.Room, 3)
	for i := range rooms {
		rooms[i] = open(t, store, queue.Config{Refresh: time.Millisecond, MaxEvents: 4, Threshold: 5, Timeout: time.Minute})
	}
	const users = 40
	ctx := context.Background()
	var all sync.WaitGroup
	for worker := range 16 {
		all.Go(func() {
			chance := rand.New(rand.NewPCG(uint64(worker), 1))
			tickets := map[string]string{}
			for range 400 {
				room, event := rooms[chance.IntN(len(rooms))], fmt.Sprint("show-", chance.IntN(8))
				user := fmt.Sprint("u", chance.IntN(users))
				key := event + " " + user
				var err error
				switch chance.IntN(20) {
				case 0:
					err = room.Leave(ctx, event, user)
				case 1:
					_, err = room.SetThreshold(ctx, event, chance.IntN(10))
				case 2:
					err = room.Flush(ctx)
				case 3:
					room.Stats()
				default:
					var place queue.Place
					place, err = room.Check(ctx, event, queue.Visitor{User: user, Ticket: tickets[key]})
					tickets[key] = place.Ticket
					if err == nil && (place.Behind < 0 || place.Status == queue.Waiting && place.Position+place.Behind != place.Waiting || place.NextPoll <= 0) {
						t.Errorf("%+v", place)
					}
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	for _, room := range rooms {
		if n := len(room.Stats().Events); n > 8 {
			t.Errorf("%d events are kept", n)
		}
	}
}

// At any moment of any history the waiting users have the positions 1 to n in the
// order of their arrival, in every process, and no position goes back.
func TestPositionsAreThoseOfTheLine(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			chance := rand.New(rand.NewPCG(seed, 7))
			store := newSpy(t)
			rooms := []*queue.Room{open(t, store, queue.Config{}), open(t, store, queue.Config{})}
			ctx := context.Background()
			tickets := fill(t, rooms[0])
			var line, entitled []string
			told := map[string]int{}
			var let register
			defer run(t, open(t, store, queue.Config{NotifyTurn: let.note}))()
			// rest waits until the admitter has nothing to do, takes the users whose turn
			// has come out of the line, and polls for them.
			rest := func() {
				t.Helper()
				synctest.Wait()
				for _, user := range let.users("show-1") {
					if len(line) == 0 || line[0] != user {
						t.Fatalf("seed %d: the turn of %s came before %v", seed, user, line)
					}
					line, entitled = line[1:], append(entitled, user)
				}
				for _, user := range slices.Clone(entitled) {
					if check(t, rooms[0], user, "").Status == queue.Active {
						entitled = entitled[1:]
					}
				}
			}
			for step := range 300 {
				rest()
				room := rooms[chance.IntN(len(rooms))]
				switch chance.IntN(8) {
				case 0, 1, 2:
					user := fmt.Sprint("u", step)
					place := check(t, room, user, "")
					if tickets[user] = place.Ticket; place.Status == queue.Waiting {
						line, told[user] = append(line, user), place.Position
					}
				case 3:
					if len(line) > 0 {
						i := chance.IntN(len(line))
						require.NoError(t, room.Leave(ctx, "show-1", line[i]))
						line = slices.Delete(line, i, i+1)
					}
				case 4:
					_, err := room.SetThreshold(ctx, "show-1", chance.IntN(step/4+2))
					require.NoError(t, err)
				default:
					time.Sleep(time.Duration(chance.IntN(1500)) * time.Millisecond)
				}
				rest()
				for i, user := range line {
					// Positions of a snapshot are up to a second old: never ahead of the
					// line, and exact once they are.
					for _, room := range rooms {
						place := check(t, room, user, tickets[user])
						if place.Status != queue.Waiting || place.Position < len(entitled)+i+1 || place.Position > told[user] {
							t.Fatalf("seed %d, step %d: %s is %+v; %d. in line, and was told %d", seed, step, user, place, i+1, told[user])
						}
					}
				}
				if chance.IntN(10) == 0 {
					time.Sleep(1001 * time.Millisecond)
					rest()
					for i, user := range line {
						for _, room := range rooms {
							place := check(t, room, user, tickets[user])
							if told[user] = place.Position; place.Position != len(entitled)+i+1 {
								t.Fatalf("seed %d, step %d: %s is %d., told %d", seed, step, user, i+1, place.Position)
							}
						}
					}
				}
			}
		})
	}
}
