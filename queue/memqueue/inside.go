package memqueue

import "container/heap"

// inside holds the active users, and the no-shows.
type inside struct {
	users map[string]*guest
	ends  byTime[*guest]

	missed map[string]*missed
	over   byTime[*missed] // the same, by their until
}

// guest is an active user.
type guest struct {
	user    string
	order   int64 // of the admission
	began   int64
	expires int64
	end     int64 // the earlier of expires and of the end of Rules.Seen
	index   int   // in ends
}

func (g *guest) when() int64     { return g.end }
func (g *guest) moved(index int) { g.index = index }

// missed is a missed turn.
type missed struct {
	user         string
	order, until int64
	index        int // in over
}

func (t *missed) when() int64     { return t.until }
func (t *missed) moved(index int) { t.index = index }

func newInside() inside {
	return inside{users: map[string]*guest{}, missed: map[string]*missed{}}
}

func (in *inside) add(g *guest) {
	in.users[g.user] = g
	heap.Push(&in.ends, g)
}

func (in *inside) remove(g *guest) {
	delete(in.users, g.user)
	heap.Remove(&in.ends, g.index)
}

// hear records a sign of life.
func (in *inside) hear(g *guest, now, seen int64) {
	g.end = min(g.expires, now+seen)
	heap.Fix(&in.ends, g.index)
}

// miss keeps a missed turn, in place of an earlier one of the user.
func (in *inside) miss(t *missed) {
	if earlier := in.missed[t.user]; earlier != nil {
		in.forget(earlier)
	}
	in.missed[t.user] = t
	heap.Push(&in.over, t)
}

func (in *inside) forget(t *missed) {
	delete(in.missed, t.user)
	heap.Remove(&in.over, t.index)
}

// lapse forgets the turns that are over.
func (in *inside) lapse(now int64) {
	for len(in.over) > 0 && in.over[0].until <= now {
		in.forget(in.over[0])
	}
}
