package queue_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
)

// TestNoShowsCutNoAdmissions: nine of ten accounts in the line of a room of ten are let
// in and never come. The others, who poll as told, enter as fast as places get free.
func TestNoShowsCutNoAdmissions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, people, stay, over = 10, 1200, 70 * time.Second, 12 * time.Minute
		ctx, store := context.Background(), newSpy(t)
		var called sync.Map // of users
		room := open(t, store, queue.Config{Threshold: places, NotifyTurn: func(n queue.Notice) { called.Store(n.User, true) }})
		type person struct {
			user, ticket string
			honest       bool
			next, until  time.Time
			position     int
		}
		chance := rand.New(rand.NewPCG(3, 1))
		var line []*person
		poll := func(p *person) queue.Place {
			place, err := room.Check(ctx, "show-1", queue.Visitor{User: p.user, Ticket: p.ticket})
			require.NoError(t, err)
			if p.ticket = place.Ticket; place.Position > p.position && p.position > 0 {
				t.Fatalf("%s was told position %d, and then %d", p.user, p.position, place.Position)
			}
			p.position, p.next = place.Position, time.Now().Add(place.NextPoll)
			return place
		}
		for i := range people {
			p := &person{user: fmt.Sprint("u", i), honest: i < places || chance.IntN(10) == 0}
			if place := poll(p); place.Status == queue.Active {
				p.until = time.Now().Add(stay)
			}
			line = append(line, p)
		}
		stop := run(t, room)
		began, entered := time.Now(), 0
		for time.Since(began) < over {
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			now := time.Now()
			for _, p := range line {
				_, turn := called.Load(p.user)
				switch {
				case !p.until.IsZero():
					if now.After(p.until) && p.user != "" {
						require.NoError(t, room.Done(ctx, "show-1", p.user))
						p.user = ""
					}
				case !p.honest && (turn || now.Sub(p.next) < 5*time.Minute), now.Before(p.next):
				default:
					if place := poll(p); place.Status == queue.Active {
						if p.until = now.Add(stay); !p.honest {
							t.Fatalf("%s is inside without a turn", p.user)
						}
						if entered++; place.Active > places {
							t.Fatalf("%d are inside", place.Active)
						}
					}
				}
			}
		}
		stop()
		// The first ones leave after a stay; each place is empty for a few seconds a turn.
		turns := int((over - stay) / (stay + 8*time.Second))
		if entered < places*turns {
			t.Errorf("%d entered in %v, want %d", entered, over, places*turns)
		}
		t.Logf("%d entered in %v, of at most %d", entered, over, places*int(over/stay))
	})
}
