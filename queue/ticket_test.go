package queue_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/memqueue"
)

// loses makes the spy's store lose its data.
func (s *spy) loses(t testing.TB) {
	t.Helper()
	lost, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	s.Store = lost
}

// waiting are tickets of users in line, each of whom polls every so often for a time.
func waiting(t testing.TB, r *queue.Room, tickets map[string]string, every, during time.Duration) {
	t.Helper()
	for range during / every {
		time.Sleep(every)
		for user, ticket := range tickets {
			place := check(t, r, user, ticket)
			require.Equalf(t, queue.Waiting, place.Status, "%s is %v", user, place.Status)
			tickets[user] = place.Ticket
		}
	}
}

func TestATicketIsSealedAnewWithoutACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{Refresh: time.Hour, MaxStale: time.Hour})
		tickets := fill(t, room, "a")
		check(t, room, "a", tickets["a"])
		store.count("visit")
		sealed := map[string]bool{tickets["a"]: true}
		// A snapshot that is never refreshed says nothing newer of the place.
		for range 300 {
			waiting(t, room, tickets, time.Second, time.Second)
			sealed[tickets["a"]] = true
		}
		assert.Len(t, sealed, 1, "tickets by one snapshot")

		room = open(t, store, queue.Config{})
		check(t, room, "a", tickets["a"])
		store.count("visit")
		for range 300 {
			waiting(t, room, tickets, time.Second, time.Second)
			sealed[tickets["a"]] = true
		}
		if n := len(sealed); n < 6 || n > 12 {
			t.Errorf("%d tickets in 5 minutes", n)
		}
		// One call in two minutes brings the signs of life, none a ticket.
		if visits := store.count("visit"); visits > 6 {
			t.Errorf("%d visits", visits)
		}
	})
}

// A ticket that its owner kept, and renewed no more since, is worth no place.
func TestAKeptTicketOutlivesNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		tickets := fill(t, room, "hoarder", "a", "b")
		kept := tickets["hoarder"]
		waiting(t, room, tickets, time.Second, 5*time.Second)
		require.NoError(t, room.Leave(context.Background(), "show-1", "hoarder"))
		delete(tickets, "hoarder")
		waiting(t, room, tickets, time.Second, 2*time.Minute)
		store.loses(t)
		_, err := room.SetThreshold(context.Background(), "show-1", 0)
		require.NoError(t, err)
		for i, who := range []struct{ user, ticket string }{{"b", tickets["b"]}, {"a", tickets["a"]}, {"hoarder", kept}} {
			place := check(t, room, who.user, who.ticket)
			assert.Equalf(t, []int{1, 1, 3}[i], place.Position, "%s is at %d", who.user, place.Position)
		}
	})
}

// A process that has not served the event for long says nothing of its loss: what it
// heard last is older than what others did.
func TestAnIdleProcessSaysNothingOfALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room, idle := open(t, store, queue.Config{}), open(t, store, queue.Config{})
		tickets := fill(t, room, "hoarder", "a")
		kept := check(t, idle, "hoarder", tickets["hoarder"]).Ticket
		require.NoError(t, idle.Leave(context.Background(), "show-1", "hoarder"))
		delete(tickets, "hoarder")
		waiting(t, room, tickets, time.Minute, 20*time.Minute)
		store.loses(t)
		_, err := idle.SetThreshold(context.Background(), "show-1", 0)
		require.NoError(t, err)
		check(t, idle, "new", "")
		assert.Equal(t, 2, check(t, idle, "hoarder", kept).Position, "by an idle process a kept ticket")
		assert.Equal(t, 1, check(t, room, "a", tickets["a"]).Position, "the user who polled")
	})
}

// No ticket can be renewed in an outage, however long: the process says when it
// last heard of the room. So the line forms again after it.
func TestTicketsOutliveAnOutageAndALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		tickets := fill(t, room, "a", "b", "c")
		waiting(t, room, tickets, time.Second, time.Minute)
		store.fails(away)
		for range 20 * 60 {
			time.Sleep(time.Second)
			// The snapshot answers for a while, and renews no ticket.
			if place, err := room.Check(context.Background(), "show-1", queue.Visitor{User: "a", Ticket: tickets["a"]}); err == nil {
				tickets["a"] = place.Ticket
			}
		}
		store.loses(t)
		store.fails(nil)
		time.Sleep(time.Second)
		_, err := room.SetThreshold(context.Background(), "show-1", 0)
		require.NoError(t, err)
		check(t, room, "new", "")
		for _, user := range []string{"c", "a", "b"} {
			tickets[user] = check(t, room, user, tickets[user]).Ticket
		}
		time.Sleep(time.Second)
		for i, user := range []string{"a", "b", "c", "new"} {
			if place := check(t, room, user, tickets[user]); place.Position != i+1 {
				t.Errorf("%s is at %d", user, place.Position)
			}
		}
	})
}

// A ticket of a release that sealed no time keeps its place, and has one after the
// next poll, without a call of the store.
func TestATicketWithoutATimeIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		tickets, sealer := fill(t, room, "a", "b"), seal.NewTickets(ring(t))
		ticket, err := sealer.Open(tickets["b"], "show-1", "b")
		require.NoError(t, err)
		check(t, room, "a", tickets["a"]) // brings the snapshot
		store.count("visit")
		ticket.Until = time.Time{}
		place := check(t, room, "b", sealer.Seal(ticket))
		renewed, err := sealer.Open(place.Ticket, "show-1", "b")
		if err != nil || renewed.Until.Before(time.Now()) || place.Position != 2 || store.count("visit") != 0 {
			t.Errorf("%+v, %+v, %v", place, renewed, err)
		}
		store.loses(t)
		_, err = room.SetThreshold(context.Background(), "show-1", 0)
		require.NoError(t, err)
		check(t, room, "new", "")
		assert.Equal(t, 2, check(t, room, "b", sealer.Seal(ticket)).Position, "after a loss one without a time")
	})
}

// A hidden tab polls about once a minute, whatever it is told.
func TestAHiddenTabOutlivesALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		seen, hidden := fill(t, room, "hidden", "seen"), map[string]string{}
		hidden["hidden"] = seen["hidden"]
		delete(seen, "hidden")
		for range 3 {
			waiting(t, room, hidden, 58*time.Second, 58*time.Second)
		}
		waiting(t, room, seen, time.Second, 59*time.Second)
		store.loses(t)
		_, err := room.SetThreshold(context.Background(), "show-1", 0)
		require.NoError(t, err)
		check(t, room, "seen", seen["seen"])
		assert.Equal(t, 1, check(t, room, "hidden", hidden["hidden"]).Position, "after a loss the hidden tab")
	})
}

// The store loses its last writes, as a replica does that takes over: each process
// tells it the highest number that it has seen, by a visit or a look.
func TestLostWritesCostNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, log := newSpy(t), new(strings.Builder)
		room := open(t, store, queue.Config{Logger: slog.New(slog.NewTextHandler(log, nil))})
		tickets := fill(t, room, "a", "b")
		lost, err := seal.NewTickets(ring(t)).Open(check(t, room, "lost", "").Ticket, "show-1", "lost")
		require.NoError(t, err)
		looked := open(t, store, queue.Config{})
		check(t, looked, "a", tickets["a"])
		for name, r := range map[string]*queue.Room{"the process that gave it out": room, "one that has looked": looked} {
			check(t, r, "a", "")
			if known := store.known(); known.Highest < lost.Order {
				t.Errorf("%s says that it knows of order %d, want %d", name, known.Highest, lost.Order)
			}
		}
		// The operator reads once that it is another server.
		store.servers = 1
		for range 2 {
			check(t, room, "a", "")
		}
		if n := strings.Count(log.String(), "another server keeps the room"); n != 1 {
			t.Errorf("the log tells of another server %d times: %s", n, log)
		}
	})
}
