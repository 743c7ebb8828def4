package queue_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
)

// Event ids that an attacker makes up push out no event with waiting users, and
// take no more memory than Config.MaxEvents.
func TestEventsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{MaxEvents: 100})
		tickets := fill(t, room, "a")
		check(t, room, "a", tickets["a"])
		store.count("look")
		ctx := context.Background()
		for i := range 10_000 {
			_, err := room.Heartbeat(ctx, fmt.Sprint("made-up-", i), queue.Visitor{User: "x"})
			require.NoError(t, err)
			if i%99 == 0 {
				if n := len(room.Stats().Events); n > 100 {
					t.Fatalf("%d events are kept", n)
				}
			}
		}
		if place := check(t, room, "a", tickets["a"]); place.Position != 1 || store.count("look") != 0 {
			t.Errorf("%+v", place)
		}
		if s := room.Stats(); s.Store != 10_002 || s.Snapshot != 2 {
			t.Errorf("the counts lost some: %+v", s)
		}
	})
}

func TestIdleEventsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		tickets := fill(t, room, "a")
		ctx := context.Background()
		serve := func(event string) {
			t.Helper()
			_, err := room.Heartbeat(ctx, event, queue.Visitor{User: "x"})
			require.NoError(t, err)
		}
		serve("used")
		for range 21 {
			time.Sleep(30 * time.Second)
			serve("used")
		}
		serve("new")
		events := room.Stats().Events
		if _, ok := events["used"]; !ok || len(events) != 2 {
			t.Errorf("kept %v", events)
		}
		if place := check(t, room, "a", tickets["a"]); place.Position != 1 {
			t.Errorf("whose event was forgotten: %+v", place)
		}
	})
}
