package frontgate_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/memqueue"
)

// arrivals serves a gate with so many positions before a real room, where those that
// are used line up within a second of being served. It calls each every second with
// the positions served and the visitors in line, until that says stop or for ten
// minutes, and returns the time.
func arrivals(t *testing.T, positions int, used func(position int64) bool, each func(serving int64, lined int) (stop bool)) time.Duration {
	t.Helper()
	lines, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	room, err := queue.New(lines, ring(t, secret), queue.Config{})
	require.NoError(t, err)
	ctx := t.Context()
	_, err = room.SetThreshold(ctx, event, 0)
	require.NoError(t, err)
	store := memory(t)
	g := newGate(t, store, frontgate.Config{Line: room})
	activate(t, g)
	for left := positions; left > 0; left -= 1000 {
		_, err := store.Assign(ctx, event, min(left, 1000))
		require.NoError(t, err)
	}
	defer run(t, g)()
	began, served, lined := time.Now(), int64(0), 0
	for range 600 {
		synctest.Wait()
		s, err := store.State(ctx, event)
		require.NoError(t, err)
		for ; served < s.Serving; served++ {
			if !used(served + 1) {
				continue
			}
			lined++
			if place, err := room.Check(ctx, event, queue.Visitor{User: fmt.Sprint(served + 1), Position: served + 1}); err != nil || place.Status != queue.Waiting {
				t.Fatalf("position %d: %+v, %v", served+1, place, err)
			}
		}
		if each(served, lined) {
			break
		}
		time.Sleep(time.Second)
	}
	return time.Since(began)
}

// A bot takes 12,000 positions and uses none.
func TestUnusedPositionsHoldNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := arrivals(t, 12_500, func(position int64) bool { return position > 12_000 },
			func(_ int64, lined int) bool { return lined == 500 })
		if took > 80*time.Second {
			t.Errorf("the honest visitors are served after %s", took)
		}
	})
}

// Where all positions are used a round is of 500; where a quarter is, of 2,000, once
// it has been seen.
func TestARoundIsOfArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began = time.Now()
		arrivals(t, 20_000, func(int64) bool { return true }, func(serving int64, _ int) bool {
			if rounds := int64(time.Since(began)/(10*time.Second)) + 1; serving > 500*rounds {
				t.Fatalf("after %s %d are served", time.Since(began), serving)
			}
			return time.Since(began) >= 2*time.Minute
		})
	})
	synctest.Test(t, func(t *testing.T) {
		began, before, half := time.Now(), 0, 0
		arrivals(t, 100_000, func(position int64) bool { return position%4 == 0 }, func(_ int64, lined int) bool {
			if lined-before > 600 {
				t.Fatalf("%d arrive at once", lined-before)
			}
			before = lined
			if time.Since(began) <= time.Minute {
				half = lined
			}
			return time.Since(began) >= 2*time.Minute
		})
		if came := before - half; came < 2500 || came > 3500 {
			t.Errorf("%d arrived in a minute, want 500 in 10 s", came)
		}
	})
}

func TestShows(t *testing.T) {
	for name, c := range map[string]struct {
		moments [][3]int64 // served, joined, epoch of the line
		want    []int64
	}{
		"nobody shows up": {
			[][3]int64{{500, 0, 1}, {1000, 0, 1}, {1500, 0, 1}, {2500, 0, 1}, {4500, 0, 1}, {8500, 0, 1}},
			[]int64{500, 500, 1000, 2000, 4000, 4000},
		},
		"all show up in the next round": {
			[][3]int64{{500, 0, 1}, {1000, 500, 1}, {1500, 1000, 1}, {2000, 1500, 1}},
			[]int64{500, 500, 500, 500},
		},
		"a third shows up": {
			[][3]int64{{600, 0, 1}, {1200, 200, 1}, {1800, 400, 1}, {2800, 600, 1}, {4300, 934, 1}},
			[]int64{500, 500, 1000, 1500, 1498},
		},
		"the line says nothing":   {[][3]int64{{500, 0, 0}, {1000, 0, 0}, {1500, 0, 0}, {2000, 0, 0}}, []int64{500, 500, 500, 500}},
		"the line begins anew":    {[][3]int64{{500, 0, 1}, {1000, 0, 1}, {1500, 0, 1}, {2500, 0, 2}, {3000, 0, 2}}, []int64{500, 500, 1000, 500, 500}},
		"the crowd is served":     {[][3]int64{{100, 0, 1}, {100, 0, 1}, {100, 0, 1}, {100, 0, 1}}, []int64{500, 500, 500, 500}},
		"more join than by gates": {[][3]int64{{500, 0, 1}, {1000, 900, 1}, {1500, 1900, 1}}, []int64{500, 500, 500}},
	} {
		if got := frontgate.Rounds(c.moments...); !slices.Equal(got, c.want) {
			t.Errorf("%s: rounds of %d, want %d", name, got, c.want)
		}
	}
}
