package crowd

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlansAreDeterministic(t *testing.T) {
	plans := func(seed uint64) (out []Plan) {
		for i := range 300 {
			out = append(out, planOf(seed, i))
		}
		return out
	}
	if !slices.Equal(plans(7), plans(7)) {
		t.Error("the same seed gave other plans")
	}
	assert.False(t, slices.Equal(plans(7), plans(8)), "another seed gave the same plans")
	if a, b := chance(7, 1).Uint64(), chance(7, 1).Uint64(); a != b {
		t.Error("the same fan of the same seed draws differently")
	}
	if a, b := chance(7, 1).Uint64(), chance(7, 2).Uint64(); a == b {
		t.Error("two fans draw the same")
	}
}

func TestEveryPlanOccurs(t *testing.T) {
	sum := 0.0
	for _, s := range shares {
		sum += s.share
	}
	require.EqualValues(t, 100, sum, "the shares add up to")
	for seed := range uint64(50) {
		seen := map[Plan]int{}
		for i := range 100 {
			seen[planOf(seed, i)]++
		}
		for _, s := range shares {
			if n := float64(seen[s.plan]); n < s.share-2 || n > s.share+2 {
				t.Errorf("seed %d: %v of 100 fans %s, want about %v", seed, n, s.plan, s.share)
			}
		}
	}
}

func TestSharesAreDeterministic(t *testing.T) {
	shares := func(seed uint64) (out []Share) {
		for i := range 300 {
			out = append(out, shareOf(mingling(seed, i), i))
		}
		return out
	}
	if !slices.Equal(shares(7), shares(7)) {
		t.Error("the same seed gave other shares")
	}
	assert.False(t, slices.Equal(shares(7), shares(8)), "another seed gave the same shares")
	assert.False(t, slices.Equal(shares(7)[:150], shares(7)[150:]), "all fans do the same")
}

func TestEveryShareOccurs(t *testing.T) {
	for seed := range uint64(50) {
		seen := map[string]int{}
		note := func(name string, is bool) {
			if is {
				seen[name]++
			}
		}
		for i := range 200 {
			s := shareOf(mingling(seed, i), i)
			note("view", s.View)
			note("like", s.Like && !s.Unlike)
			note("unlike", s.Like && s.Unlike)
			note("comment", s.Comment && !s.Delete)
			note("delete", s.Comment && s.Delete)
			note("say", s.Say > 1)
			note("follow", s.Follow > 0)
			note("listen", s.Listen)
			note("nothing without", s.Unlike && !s.Like || s.Delete && !s.Comment || s.Follow > i)
		}
		if len(seen) != 8 || seen["nothing without"] > 0 {
			t.Errorf("seed %d: %v", seed, seen)
		}
	}
}
