package onsale

import (
	"cmp"
	"math"
	"slices"
)

// turn is one person's arrival, a call that took a while, and the rank of the
// admission.
type turn struct {
	from, to int64 // the call that lined the person up, ns
	rank     int64 // place in the order of admission; never when it was not
	person   int32
}

const never = math.MaxInt64

// fairness compares all pairs of arrivals of which one was over before the other
// began: right are those admitted in that order, or of which only the first was;
// inverted are the others, of which one is an example. Pairs of which neither was
// admitted do not count.
func fairness(turns []turn) (right, inverted int64, example [2]turn) {
	// Ranks become 1 … m, and never m+1, for the tree.
	ranks := make([]int64, len(turns))
	for i, t := range turns {
		ranks[i] = t.rank
	}
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	place := func(rank int64) int { at, _ := slices.BinarySearch(ranks, rank); return at + 1 }

	begun := slices.SortedFunc(slices.Values(turns), func(a, b turn) int { return cmp.Compare(a.from, b.from) })
	over := slices.SortedFunc(slices.Values(turns), func(a, b turn) int { return cmp.Compare(a.to, b.to) })
	before := make(tree, len(ranks)+1)
	count, next := int64(0), 0
	for _, later := range begun {
		for ; next < len(over) && over[next].to < later.from; next++ {
			before.add(place(over[next].rank))
			count++
		}
		at := place(later.rank)
		right += before.upTo(at - 1)
		if later.rank == never {
			continue
		}
		wrong := count - before.upTo(at)
		if wrong > 0 && inverted == 0 {
			i := slices.IndexFunc(over[:next], func(t turn) bool { return t.rank > later.rank })
			example = [2]turn{over[i], later}
		}
		inverted += wrong
	}
	return right, inverted, example
}

// tau is Kendall's tau: 1 when all pairs are right.
func tau(right, inverted int64) float64 {
	if right+inverted == 0 {
		return 1
	}
	return float64(right-inverted) / float64(right+inverted)
}

// tree counts numbers from 1 on, after Fenwick.
type tree []int64

func (t tree) add(n int) {
	for ; n < len(t); n += n & -n {
		t[n]++
	}
}

// upTo counts the numbers 1 … n in the tree.
func (t tree) upTo(n int) (sum int64) {
	for ; n > 0; n -= n & -n {
		sum += t[n]
	}
	return sum
}
