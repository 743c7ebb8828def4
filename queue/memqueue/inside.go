package memqueue

import (
	"cmp"
	"container/heap"
	"slices"
)

// inside holds the active users, and the no-shows.
type inside struct {
	users map[string]*guest
	ends  byTime[*guest]

	missed map[string]missed
	recent []recent // the same by their until, and some that are not missed any more
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
	order, until int64
}

type recent struct {
	user  string
	until int64
}

func newInside() inside {
	return inside{users: map[string]*guest{}, missed: map[string]missed{}}
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

// miss keeps a missed turn.
func (in *inside) miss(user string, t missed) {
	in.missed[user] = t
	// Turns end in almost the order in which they are missed.
	i, _ := slices.BinarySearchFunc(in.recent, t.until, func(r recent, until int64) int { return cmp.Compare(r.until, until) })
	in.recent = slices.Insert(in.recent, i, recent{user, t.until})
}

// lapse forgets the turns that are over. The user of an earlier one may have missed a
// later turn since.
func (in *inside) lapse(now int64) {
	n := 0
	for n < len(in.recent) && in.recent[n].until <= now {
		user := in.recent[n].user
		if t, ok := in.missed[user]; ok && t.until <= now {
			delete(in.missed, user)
		}
		n++
	}
	if in.recent = in.recent[n:]; len(in.recent) == 0 {
		in.recent = nil
	}
}
