package queue_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace-go/millrace/queue"
)

// Kinds of people in a line, by what they do with it.
const (
	honest   = iota // polls as told
	silent          // joins, and is never heard of again
	repeater        // polls at all instances, far more often than told
	sharer          // brings the ticket of an honest user
	rejoiner        // leaves after a while and lines up under another name
	kinds
)

// human is one of a crowd, with what the answers have told.
type human struct {
	kind         int
	instance     int // that of the honest: the load balancer is sticky
	user, ticket string
	next         time.Time
	position     int
	in, left     time.Time
	turns        int // how often a place was taken
}

// TestCheatsMoveNoHonestUser: half of a crowd cheats, and the instances are killed one
// after the other. Judged by the answers that the clients got: the honest enter in the
// order of their arrival, within the polls of those before, once each; their positions
// never rise; and no more than the threshold are inside.
func TestCheatsMoveNoHonestUser(t *testing.T) {
	for seed := range uint64(2) {
		synctest.Test(t, func(t *testing.T) {
			const people, places, stay, over = 600, 20, 20 * time.Second, 8 * time.Minute
			// A poll is as late as an interval, the age of a snapshot and a step of the crowd.
			const late = 3500 * time.Millisecond
			ctx, store, chance := context.Background(), newSpy(t), rand.New(rand.NewPCG(seed, 11))
			instance := func() *queue.Room { return open(t, store, queue.Config{Threshold: places}) }
			rooms := []*queue.Room{instance(), instance(), instance(), instance()}
			var crowd, entered []*human
			inside := 0
			poll := func(h *human, room *queue.Room) {
				ticket := h.ticket
				if h.kind == sharer {
					ticket = crowd[chance.IntN(len(crowd))].ticket
				}
				place, err := room.Check(ctx, "show-1", queue.Visitor{User: h.user, Ticket: ticket})
				if err != nil {
					t.Fatal(err)
				}
				now := time.Now()
				if h.kind == honest && (place.Position > h.position && h.position > 0 || place.Status == queue.None) {
					t.Fatalf("seed %d: %s was told position %d, and then %+v", seed, h.user, h.position, place)
				}
				h.ticket, h.position, h.next = place.Ticket, place.Position, now.Add(place.NextPoll)
				if place.Status == queue.Active && h.in.IsZero() {
					h.in, inside, entered = now, inside+1, append(entered, h)
					h.turns++
				}
				if inside > places || place.Active > places {
					t.Fatalf("seed %d: %d know that they are inside, and the room says %d", seed, inside, place.Active)
				}
			}
			stop := run(t, rooms[0], queue.AdmitterConfig{})
			defer func() { stop() }()
			began := time.Now()
			for step := 0; time.Since(began) < over; step++ {
				for range min(10, people-len(crowd)) {
					h := &human{user: fmt.Sprint("u", len(crowd)), instance: chance.IntN(4)}
					if chance.IntN(2) == 0 {
						h.kind = 1 + chance.IntN(kinds-1)
					}
					crowd = append(crowd, h)
					poll(h, rooms[h.instance])
				}
				time.Sleep(250 * time.Millisecond)
				synctest.Wait()
				if step%40 == 39 { // an instance is killed, with all that it knows
					i := step / 40 % 4
					if i == 0 {
						stop()
					}
					if rooms[i] = instance(); i == 0 {
						stop = run(t, rooms[0], queue.AdmitterConfig{})
					}
				}
				now := time.Now()
				for _, h := range crowd {
					switch {
					case !h.left.IsZero():
					case !h.in.IsZero():
						if now.Sub(h.in) > stay {
							if err := rooms[chance.IntN(4)].Done(ctx, "show-1", h.user); err != nil {
								t.Fatal(err)
							}
							h.left, inside = now, inside-1
						}
					case h.kind == silent, h.kind != repeater && now.Before(h.next):
					case h.kind == rejoiner && chance.IntN(30) == 0:
						if err := rooms[chance.IntN(4)].Leave(ctx, "show-1", h.user); err != nil {
							t.Fatal(err)
						}
						h.user, h.ticket = h.user+"+", ""
					default:
						if h.kind == repeater {
							h.instance = chance.IntN(4)
						}
						poll(h, rooms[h.instance])
					}
				}
			}
			ahead := time.Time{} // of the honest that came later, when the first was inside
			honestIn := 0
			for i := len(crowd) - 1; i >= 0; i-- {
				h := crowd[i]
				if h.kind != honest {
					continue
				}
				in := h.in
				if in.IsZero() {
					in = time.Now()
				} else {
					honestIn++
				}
				if !ahead.IsZero() && in.Sub(ahead) > late {
					t.Errorf("seed %d: %s was inside at %v, and one who came later at %v", seed, h.user, in.Sub(began), ahead.Sub(began))
				}
				if h.turns > 1 {
					t.Errorf("seed %d: %s entered %d times", seed, h.user, h.turns)
				}
				if !h.in.IsZero() && (ahead.IsZero() || h.in.Before(ahead)) {
					ahead = h.in
				}
			}
			if honestIn < people/4 {
				t.Errorf("seed %d: %d of the honest entered in %v", seed, honestIn, over)
			}
			t.Logf("seed %d: %d entered, %d of them honest", seed, len(entered), honestIn)
		})
	}
}
