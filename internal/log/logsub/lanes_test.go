package logsub_test

import (
	"testing"

	"github.com/millrace-go/millrace/internal/log/logsub"
)

// A topic keeps its lanes, and its lanes keep their meaning, unless it comes back with another
// number of partitions.
func TestLanes(t *testing.T) {
	var l logsub.Lanes
	a := l.Number(logsub.Topic{Name: "a", Partitions: 2})
	b := l.Number(logsub.Topic{Name: "b", Partitions: 3})
	if again := l.Number(logsub.Topic{Name: "a", Partitions: 2, Retention: 1}); again.FirstLane != a.FirstLane || again.Retention != 1 {
		t.Errorf("a topic that is numbered again is %+v, after %+v", again, a)
	}
	other := l.Number(logsub.Topic{Name: "a", Partitions: 1})
	for lane, want := range map[int]logsub.Partition{
		a.FirstLane:     {Topic: "a", N: 0, Of: 2},
		a.FirstLane + 1: {Topic: "a", N: 1, Of: 2},
		b.FirstLane + 2: {Topic: "b", N: 2, Of: 3},
		other.FirstLane: {Topic: "a", N: 0, Of: 1},
	} {
		if got := l.Partition(lane); got != want {
			t.Errorf("lane %d is %+v, want %+v", lane, got, want)
		}
	}
	if _, ok := l.Topic("c"); ok {
		t.Error("a topic that was never numbered is known")
	}
}
