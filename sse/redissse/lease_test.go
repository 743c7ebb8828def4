package redissse_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/sse/redissse"
)

// TestLease stops an instance's renewals: its entries are ghosts when its lease
// lapses, and not before.
func TestLease(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			prefix := redistest.Prefix(t, client)
			now := newClock()
			dies := newInstance(t, newCap(t, client, prefix), "dies", now)
			stays := newInstance(t, newCap(t, connect(t), prefix), "stays", now)
			first, _ := dies.open("opens")
			second, _ := dies.open("is swept")

			now.advance(lease - time.Millisecond)
			if live := stays.renew(); !slices.Contains(live.Instances, "dies") {
				t.Fatalf("the leases are %+v before the first ends", live)
			}
			if _, o := stays.open("opens"); o.Ghosts != 0 {
				t.Errorf("%d ghosts while the lease lasts", o.Ghosts)
			}
			assert.Equal(t, 0, stays.sweep(), "swept while the lease lasts")
			assert.Empty(t, stays.missing(first, second), "are gone while the lease lasts")

			now.advance(time.Millisecond)
			if live := stays.renew(); slices.Contains(live.Instances, "dies") {
				t.Fatalf("the leases are %+v after the first ended", live)
			}
			if _, o := stays.open("opens"); o.Ghosts != 1 {
				t.Errorf("%d ghosts after the lease, want 1", o.Ghosts)
			}
			if gone := stays.missing(first, second); !gone[first.ID] || gone[second.ID] {
				t.Errorf("%v are gone after a member of one of them opened", gone)
			}
			assert.Equal(t, 1, stays.sweep(), "swept after the lease")
			assert.Len(t, stays.missing(first, second), 2, "are gone after the sweep")
		})
	}
}

// TestYoungInstance begins an instance that is not in the list of another yet.
func TestYoungInstance(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			prefix := redistest.Prefix(t, client)
			now := newClock()
			old := newInstance(t, newCap(t, client, prefix), "old", now)
			young := newInstance(t, newCap(t, connect(t), prefix), "young", now)
			require.NotContains(t, old.live.Instances, "young", "the list of the old instance is not old")
			c, _ := young.open("m")
			if _, o := old.open("m"); o.Ghosts != 0 {
				t.Errorf("%d ghosts", o.Ghosts)
			}
			if n := old.sweep(); n != 0 || len(old.missing(c)) != 0 {
				t.Errorf("%d were swept, gone %v", n, old.missing(c))
			}
		})
	}
}

// TestSkew sets the node of the members behind that of the leases: within Skew the
// entries of a young instance are not taken for ghosts, and beyond it they are.
func TestSkew(t *testing.T) {
	t.Parallel()
	client := servers["cluster"](t)
	for behind, ghosts := range map[time.Duration]int{900 * time.Millisecond: 0, 1100 * time.Millisecond: 1} {
		prefix := redistest.Prefix(t, client)
		now := newClock()
		instanceOf := func(name string) *instance {
			c, _, err := redissse.New(client, redissse.Config{Prefix: prefix})
			require.NoError(t, err)
			return newInstance(t, c, name, now)
		}
		old, young := instanceOf("old"), instanceOf("young")
		young.behind = behind
		young.open("m")
		if _, o := old.open("m"); o.Ghosts != ghosts {
			t.Errorf("clocks %v apart: %d ghosts, want %d", behind, o.Ghosts, ghosts)
		}
	}
}

// TestFenced stops an instance for longer than its lease: it learns that its entries
// are gone. The entries that it opens from then on count, also for instances that do
// not know of its return.
func TestFenced(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			prefix := redistest.Prefix(t, client)
			now := newClock()
			stops := newInstance(t, newCap(t, client, prefix), "stops", now)
			other := newInstance(t, newCap(t, connect(t), prefix), "other", now)
			before, _ := stops.open("m")
			now.advance(lease)
			other.renew()
			for range 3 {
				if _, o := other.open("m"); len(o.Evicted) != 0 {
					t.Errorf("a ghost had a place: %+v", o.Evicted)
				}
			}
			now.advance(time.Millisecond)
			if live := stops.renew(); !slices.Contains(live.Instances, "stops") {
				t.Errorf("the instance is not back: %+v", live)
			}
			assert.True(t, stops.missing(before)[before.ID], "what was registered before the pause is registered after it")
			after, o := stops.open("m")
			if len(o.Evicted) != 1 || o.Evicted[0].ID != "other.1" {
				t.Errorf("evicted %+v, want the oldest of the others", o.Evicted)
			}
			if _, o := other.open("m"); o.Ghosts != 0 || len(o.Evicted) != 1 || o.Evicted[0].ID != "other.2" {
				t.Errorf("by an older list: %+v", o)
			}
			assert.Empty(t, stops.missing(after), "what was opened after the pause is gone")
		})
	}
}

// TestResign ends an instance in order: the others use its places at once.
func TestResign(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			prefix := redistest.Prefix(t, client)
			now := newClock()
			ends := newInstance(t, newCap(t, client, prefix), "ends", now)
			other := newInstance(t, newCap(t, connect(t), prefix), "other", now)
			ends.open("m")
			require.NoError(t, ends.cap.Resign(t.Context(), "ends"))
			now.advance(time.Millisecond)
			other.renew()
			if _, o := other.open("m"); o.Ghosts != 1 {
				t.Errorf("%d ghosts, want 1", o.Ghosts)
			}
		})
	}
}
