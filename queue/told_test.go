package queue_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
)

// A visit to the store may find a better place than the snapshot's. A later poll
// does not show the older one.
func TestAPositionDoesNotGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := open(t, newSpy(t), queue.Config{Refresh: time.Minute, MaxStale: time.Hour})
		users, tickets := line(t, room, 10)
		last, seventh := users[9], users[6]
		if place := check(t, room, last, tickets[last]); place.Position != 10 {
			t.Fatalf("%+v", place)
		}
		time.Sleep(time.Millisecond)
		for _, user := range users[:4] {
			require.NoError(t, room.Leave(context.Background(), "show-1", user))
		}
		if place := check(t, room, last, ""); place.Position != 6 || place.Behind != 0 {
			t.Fatalf("without the ticket: %+v", place)
		}
		assert.Equal(t, 6, check(t, room, last, tickets[last]).Position, "with the ticket again: position")
		assert.Equal(t, 7, check(t, room, seventh, tickets[seventh]).Position, "one who was told nothing else: position")
		time.Sleep(time.Minute)
		require.NoError(t, room.Leave(context.Background(), "show-1", users[4]))
		assert.Equal(t, 5, check(t, room, last, tickets[last]).Position, "by the next snapshot: position")
	})
}

// A snapshot that was asked for before a user was told of a better place, and came
// after it, does not take that back.
func TestASnapshotThatComesLateTakesNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		users, tickets := line(t, room, 3)
		last := users[2]
		late := &lateLook{spy: store, gate: make(chan struct{})}
		other := open(t, late, queue.Config{})
		refreshed := make(chan queue.Place)
		go func() { refreshed <- check(t, other, users[1], tickets[users[1]]) }()
		synctest.Wait()
		time.Sleep(time.Millisecond)
		require.NoError(t, room.Leave(context.Background(), "show-1", users[0]))
		if place := check(t, other, last, ""); place.Position != 2 {
			t.Fatalf("%+v", place)
		}
		close(late.gate)
		<-refreshed
		assert.Equal(t, 2, check(t, other, last, tickets[last]).Position, "position")
	})
}

// lateLook keeps an answer of Look for a while.
type lateLook struct {
	*spy
	gate chan struct{}
}

func (l *lateLook) Look(ctx context.Context, event string, r driver.Rules, epoch, version uint64) (driver.View, error) {
	v, err := l.spy.Look(ctx, event, r, epoch, version)
	select {
	case <-l.gate:
	case <-ctx.Done():
	}
	return v, err
}

// A user told by the store while there was no room to remember it gets the
// snapshot's place again, and the memory stays bounded.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := open(t, newSpy(t), queue.Config{Refresh: time.Minute, MaxStale: time.Hour})
		users, tickets := line(t, room, 4200)
		check(t, room, users[1], tickets[users[1]])
		time.Sleep(time.Millisecond)
		require.NoError(t, room.Leave(context.Background(), "show-1", users[0]))
		kept := 0
		for i, user := range users[1:] {
			if place := check(t, room, user, ""); place.Ahead != i {
				t.Fatalf("%s: %+v", user, place)
			}
		}
		for i, user := range users[1:] {
			switch place := check(t, room, user, tickets[user]); place.Ahead {
			case i:
				kept++
			case i + 1:
			default:
				t.Fatal(fmt.Sprint(user, place))
			}
		}
		assert.Equal(t, 4096, kept, "places were remembered")
	})
}
