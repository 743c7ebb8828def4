package queue_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/queue"
)

// sale is one with random people: all that enter look for a seat, most buy it, some return
// it, and then they leave.
type sale struct {
	seed                     uint64
	seats, people, threshold int
	buy, giveBack            int // percent
}

// sell runs a sale, and returns how many entered and found no seat, how many seats are
// left in the end, and how many people wait.
func (s sale) sell(t *testing.T, stocked bool) (disappointed, left, waiting int) {
	chance := rand.New(rand.NewPCG(s.seed, 7))
	h := &house{seats: s.seats}
	cfg := queue.Config{Threshold: s.threshold, Batch: 5}
	if stocked {
		cfg.Stock = h.left
	}
	store := newSpy(t)
	rooms := []*queue.Room{open(t, store, cfg), open(t, store, cfg)}
	for _, room := range rooms {
		defer run(t, room)()
	}
	type person struct {
		user, ticket string
		inside       bool
		until, next  time.Time
	}
	var people []*person
	for i := range s.people {
		people = append(people, &person{user: fmt.Sprint("p", i), next: time.Now().Add(time.Duration(chance.IntN(5000)) * time.Millisecond)})
	}
	inside := 0
	var back []int // when seats are returned
	for i := 0; i < 900 && len(people) > 0 && (inside > 0 || len(back) > 0 || h.free() > 0); i++ {
		time.Sleep(time.Second)
		synctest.Wait()
		now := time.Now()
		back = slices.DeleteFunc(back, func(at int) bool {
			if at <= i {
				h.giveBack()
			}
			return at <= i
		})
		people = slices.DeleteFunc(people, func(p *person) bool {
			room := rooms[chance.IntN(2)]
			if p.inside && now.After(p.until) {
				assert.NoError(t, room.Done(context.Background(), "show-1", p.user))
				inside--
				return true
			}
			if p.inside || now.Before(p.next) {
				return false
			}
			place := check(t, room, p.user, p.ticket)
			p.ticket, p.next = place.Ticket, now.Add(place.NextPoll)
			if place.Status != queue.Active {
				return false
			}
			inside++
			p.inside, p.until = true, now.Add(time.Duration(1+chance.IntN(8))*time.Second)
			if chance.IntN(100) < s.buy {
				if !h.take() {
					disappointed++
				} else if chance.IntN(100) < s.giveBack {
					back = append(back, i+1+chance.IntN(20))
				}
			}
			return false
		})
	}
	return disappointed, h.free(), len(people)
}

// TestAllThatEnterFindASeat: whatever people do, each that enters has a seat to buy, and
// while seats and people are left the sale goes on.
func TestAllThatEnterFindASeat(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := sale{
			seed: rapid.Uint64().Draw(rt, "seed"), seats: rapid.IntRange(0, 12).Draw(rt, "seats"), people: rapid.IntRange(1, 25).Draw(rt, "people"),
			threshold: rapid.IntRange(1, 12).Draw(rt, "threshold"), buy: rapid.IntRange(0, 100).Draw(rt, "buy"), giveBack: rapid.IntRange(0, 50).Draw(rt, "give back"),
		}
		var disappointed, left, waiting int
		synctest.Test(t, func(t *testing.T) { disappointed, left, waiting = s.sell(t, true) })
		if disappointed > 0 || left > 0 && waiting > 0 {
			rt.Fatalf("%+v: %d found no seat; in the end %d seats are left, and %d people wait", s, disappointed, left, waiting)
		}
	})
}

// TestWithoutStockSomeFindNoSeat, which says that the sale above can tell.
func TestWithoutStockSomeFindNoSeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disappointed, _, _ := sale{seats: 10, people: 60, threshold: 30, buy: 100}.sell(t, false)
		require.Positive(t, disappointed)
	})
}
