package onsale

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestMeter(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	var m meter
	if m.quantile(0.5) != 0 || m.count() != 0 {
		t.Error("an empty meter has a median")
	}
	var all []time.Duration
	for range 10_000 {
		took := time.Duration(1) << draw.IntN(40)
		took += time.Duration(draw.Int64N(int64(took)))
		all = append(all, took)
		m.add(took)
	}
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99} {
		want := all[int(q*float64(len(all)))]
		if got := m.quantile(q); float64(got) > 1.001*float64(want) || float64(got) < float64(want)/1.08 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if m.max() != all[len(all)-1] || m.count() != int64(len(all)) {
		t.Errorf("%v at most of %d", m.max(), m.count())
	}
	before, _ := m.since(nil)
	m.add(time.Hour)
	if counts, total := m.since(before); total != 1 || at(counts, total, 0.5) < 50*time.Minute {
		t.Errorf("%d since", total)
	}
}

func TestBuckets(t *testing.T) {
	for n := int64(0); n < 1<<20; n = n*17/16 + 1 {
		if b := bucket(n); least(b) > n || least(b+1) <= n {
			t.Errorf("%d is in the bucket from %d to %d", n, least(b), least(b+1))
		}
	}
}
