package cheats

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// told is a position that an answer told.
type told struct {
	at       time.Duration
	position int
}

// Positions are compared while they only fall: not before all people who polled have a
// place again after a loss, nor while answers may come from an old snapshot.
const (
	forming = 10 * time.Second
	stale   = 3 * time.Second
)

// period is how many losses there were at a time, when positions are compared.
func period(at time.Duration, losses []span) (n int, calm bool) {
	for i, l := range losses {
		if at >= l.from-stale {
			n = i + 1
		}
		if at >= l.from-stale && at <= l.to+forming {
			return n, false
		}
	}
	return n, true
}

// inverted finds the honest people who were told a higher position than a person who came
// later had been told before: positions fall, so the later person stood before them.
func inverted(people []*person, losses []span) map[*person]bool {
	type answer struct {
		told
		*person
		period int
	}
	var line []*person
	var answers []answer
	for _, p := range people {
		if p.kind != honest || p.arrival.to == 0 {
			continue
		}
		line = append(line, p)
		for _, t := range p.told {
			if n, calm := period(t.at, losses); calm {
				answers = append(answers, answer{t, p, n})
			}
		}
	}
	slices.SortFunc(line, func(a, b *person) int { return cmp.Compare(a.arrival.from, b.arrival.from) })
	rank := map[*person]int{}
	for i, p := range line {
		rank[p] = i
	}
	slices.SortFunc(answers, func(a, b answer) int { return cmp.Compare(a.at, b.at) })
	found := map[*person]bool{}
	best, noted, now := newLeast(len(line)), 0, 0
	for i, a := range answers {
		if a.period != now {
			best, noted, now = newLeast(len(line)), i, a.period
		}
		for ; answers[noted].at < a.at-stale; noted++ {
			best.note(rank[answers[noted].person], answers[noted].position)
		}
		after, _ := slices.BinarySearchFunc(line, a.arrival.to, func(p *person, to time.Duration) int {
			if p.arrival.from <= to {
				return -1
			}
			return 1
		})
		if best.from(after) < a.position {
			found[a.person] = true
		}
	}
	return found
}

// least is the least position of all people from a rank on: a Fenwick tree.
type least []int

func newLeast(n int) least {
	l := make(least, n+1)
	for i := range l {
		l[i] = math.MaxInt
	}
	return l
}

func (l least) note(rank, position int) {
	for i := len(l) - 1 - rank; i < len(l); i += i & -i {
		l[i] = min(l[i], position)
	}
}

func (l least) from(rank int) int {
	best := math.MaxInt
	for i := len(l) - 1 - rank; i > 0; i -= i & -i {
		best = min(best, l[i])
	}
	return best
}
