package onsale

import (
	"testing"

	"pgregory.net/rapid"
)

// pairs is fairness, slowly.
func pairs(turns []turn) (right, inverted int64) {
	for _, a := range turns {
		for _, b := range turns {
			switch {
			case a.to >= b.from || a.rank == b.rank:
			case a.rank < b.rank:
				right++
			default:
				inverted++
			}
		}
	}
	return right, inverted
}

func TestFairness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) turn {
			from := rapid.Int64Range(0, 20).Draw(t, "from")
			rank := rapid.Int64Range(1, 20).Draw(t, "rank")
			if rank > 15 {
				rank = never
			}
			return turn{from: from, to: from + rapid.Int64Range(0, 5).Draw(t, "took"), rank: rank}
		}), 0, 30).Draw(t, "turns")
		right, inverted, example := fairness(turns)
		if early, late := example[0], example[1]; inverted > 0 && (early.to >= late.from || early.rank <= late.rank) {
			t.Errorf("%v is no example", example)
		}
		if wantRight, wantInverted := pairs(turns); right != wantRight || inverted != wantInverted {
			t.Errorf("%d right and %d inverted, want %d and %d", right, inverted, wantRight, wantInverted)
		}
	})
}

func TestTau(t *testing.T) {
	for _, c := range []struct {
		right, inverted int64
		want            float64
	}{{0, 0, 1}, {10, 0, 1}, {0, 10, -1}, {3, 1, 0.5}} {
		if got := tau(c.right, c.inverted); got != c.want {
			t.Errorf("tau(%d, %d) = %v, want %v", c.right, c.inverted, got, c.want)
		}
	}
}
