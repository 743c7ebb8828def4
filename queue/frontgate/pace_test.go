package frontgate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

func TestNextPoll(t *testing.T) {
	for _, c := range []struct {
		distance int64
		chance   float64
		want     time.Duration
	}{
		{1, 0, 2 * time.Second}, {500, 0, 2580 * time.Millisecond}, {5_000, 0, 7817 * time.Millisecond},
		{10_001, 0, 13_636 * time.Millisecond}, {1_000_000, 0, 13_636 * time.Millisecond}, {1_000_000, 1, 15 * time.Second}, {1, 1, 2200 * time.Millisecond},
	} {
		got := frontgate.PollAfter(c.distance, 500, c.chance)
		if d := got - c.want; d < -2*time.Millisecond || d > 2*time.Millisecond {
			t.Errorf("at a distance of %d with chance %g: %s, want %s", c.distance, c.chance, got, c.want)
		}
	}
	last := time.Duration(0)
	for distance := int64(1); distance < 30_000; distance += 7 {
		got := frontgate.PollAfter(distance, 500, 0)
		if got < frontgate.MinPoll || frontgate.PollAfter(distance, 500, 1) > frontgate.MaxPoll || got < last {
			t.Fatalf("at a distance of %d: %s, after %s", distance, got, last)
		}
		last = got
	}
}

// A wait too long for a time.Duration is told as a day, as all that are longer.
func TestLongestWait(t *testing.T) {
	store := memory(t)
	g := newGate(t, store, frontgate.Config{Step: 1, Every: 24 * time.Hour})
	activate(t, g)
	for range 110 { // more days than 292 years have
		_, err := store.Assign(t.Context(), event, 1000)
		require.NoError(t, err)
	}
	require.Equal(t, 24*time.Hour, check(t, g, assign(t, g).RequestID).Wait)
}

// However fast the counter has risen, a visitor that is not admitted has a wait above 0.
func TestShortestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory(t)
		g := newGate(t, store, frontgate.Config{})
		activate(t, g)
		for range driver.MaxAdvance / driver.MaxAssign {
			_, err := store.Assign(t.Context(), event, driver.MaxAssign)
			require.NoError(t, err)
		}
		place := assign(t, g)
		time.Sleep(20 * time.Second) // from here on there is a rate
		_, err := g.Advance(t.Context(), event, driver.MaxAdvance)
		require.NoError(t, err)
		require.Equal(t, time.Millisecond, check(t, g, place.RequestID).Wait)
	})
}

// The wait follows from the rate at which the counter rises, and before there is a
// rate from the configured rounds.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory(t)
		g := newGate(t, store, frontgate.Config{Step: 10})
		activate(t, g)
		_, err := store.Assign(t.Context(), event, 999)
		require.NoError(t, err)
		place := assign(t, g) // 1000
		if turn := check(t, g, place.RequestID); turn.Wait != 1000*time.Second {
			t.Errorf("before the first round: %s, want 100 rounds of 10 s", turn.Wait)
		}
		// An operator adds as much as the rounds do: twice the rate.
		stop := run(t, g)
		defer stop()
		for range 24 {
			time.Sleep(5 * time.Second)
			_, err := g.Advance(t.Context(), event, 5)
			require.NoError(t, err)
			check(t, g, place.RequestID)
		}
		turn := check(t, g, place.RequestID)
		distance := turn.Position - turn.Serving
		if want := time.Duration(distance) * time.Second / 2; turn.Wait < want*8/10 || turn.Wait > want*12/10 {
			t.Errorf("at 2 a second, %d away: %s, want about %s", distance, turn.Wait, want)
		}
	})
}
