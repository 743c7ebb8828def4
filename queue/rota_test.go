package queue

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// names takes all duties that are due.
func (r *rota) names(now time.Duration) (duties []*duty, names []string) {
	for d := r.take(now); d != nil; d = r.take(now) {
		duties = append(duties, d)
		names = append(names, fmt.Sprint(d.kind, " ", d.of.event))
	}
	slices.Sort(names)
	return duties, names
}

func TestRota(t *testing.T) {
	r := newRota()
	due := func(now time.Duration, want ...string) []*duty {
		t.Helper()
		duties, names := r.names(now)
		if !slices.Equal(names, want) {
			t.Errorf("due at %v: %q, want %q", now, names, want)
		}
		return duties
	}
	list := due(0, "list events ")[0]
	if next, ok := r.next(); ok {
		t.Errorf("something is due at %v while the only duty is under way", next)
	}
	r.put(finished{duty: list, again: 1, listed: true, events: []string{"a", "b"}}, 0)
	first := due(0, "admit a", "admit b", "sweep a", "sweep b")
	due(1, "list events ") // the others are under way
	for i, d := range first {
		r.put(finished{duty: d, again: time.Duration(10 + i)}, 1)
	}
	if next, _ := r.next(); next != 11 {
		t.Errorf("the next is due at %v", next)
	}
	due(10)
	// b is gone, and c is new; a failed list would change nothing.
	r.put(finished{duty: list, again: 5}, 10)
	due(15, "admit a", "admit b", "list events ", "sweep a", "sweep b")
	for _, d := range first {
		r.put(finished{duty: d}, 20)
	}
	r.put(finished{duty: list, listed: true, events: []string{"a", "c"}}, 20)
	due(20, "admit a", "admit c", "list events ", "sweep a", "sweep c")
	r.put(finished{duty: list, again: 5, listed: true, events: []string{"b"}}, 20)
	due(20, "admit b", "sweep b")
	if len(r.serves) != 1 || len(r.waiting) != 1 {
		t.Errorf("serves %v, %d duties", r.serves, len(r.waiting))
	}
}
