package queue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
)

// TestForecastIsMadeOnceARefresh: polls within a second are told by one forecast; the
// next one counts the users that have left since, and one of a cleared room is worth nothing.
func TestForecastIsMadeOnceARefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := open(t, newSpy(t), queue.Config{})
		tickets := fill(t, room, "a", "b", "c")
		time.Sleep(10 * time.Second)
		before := check(t, room, "c", tickets["c"]).Wait
		require.NoError(t, room.Done(context.Background(), "show-1", "inside"))
		// Without a ticket the store answers, which knows that.
		if again := check(t, room, "c", "").Wait; again != before {
			t.Errorf("at once %v became %v", before, again)
		}
		time.Sleep(2 * time.Second)
		if after := check(t, room, "c", tickets["c"]).Wait; after > before/3 {
			t.Errorf("one left after 10 s, and %v became %v", before, after)
		}
		_, err := room.Clear(context.Background(), "show-1")
		require.NoError(t, err)
		check(t, room, "first", "")
		if second := check(t, room, "second", ""); second.Wait < 4*time.Minute {
			t.Errorf("in the cleared room the second is told %v", second.Wait)
		}
	})
}
