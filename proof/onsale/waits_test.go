package onsale

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWaits: nine of ten people are told a wait within a factor of two of the truth,
// for most of the time and halfway, whatever the distribution of the stays; the first
// ones at the opening as well, where the first stays say something.
func TestWaits(t *testing.T) {
	// Of these, the first seconds say the opposite, by the people that leave at once, or
	// nothing: no store knows before the first turns that every second user does not come.
	misleading := map[string]bool{"a third to the limit, others 20 s": true, "lognormal, 3 min, σ 0.5, 50 % do not come": true}
	for _, w := range AllWaits(7) {
		t.Run(w.Name, func(t *testing.T) {
			r, err := w.Run(t.Context())
			require.NoError(t, err)
			first := 0.7
			if misleading[w.Name] {
				first = 0
			}
			t.Logf("%+v", r)
			if r.People < 0.9 || r.Half < 0.9 || r.All < 0.85 || r.First < first {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestWaitsFindLies: the judge can say no. At the opening of a room where people may stay
// for ten hours, no one knows that they leave after five minutes.
func TestWaitsFindLies(t *testing.T) {
	w := AllWaits(7)[0]
	w.People, w.Threshold = 400, 50
	w.Active = 10 * time.Hour
	w.Stay = func(*rand.Rand) time.Duration { return 5 * time.Minute }
	r, err := w.Run(t.Context())
	require.NoError(t, err)
	if r.First > 0.1 || r.Half < 0.8 {
		t.Errorf("%+v: at the opening nobody can know, and halfway everybody does", r)
	}
}

// TestWaitsOfNoOne: a share of no one is no number, which no comparison finds too small.
func TestWaitsOfNoOne(t *testing.T) {
	w := AllWaits(7)[0]
	w.People, w.Threshold, w.Missing = 40, 5, 1
	if r, err := w.Run(t.Context()); err == nil {
		t.Errorf("without any person that came: %+v", r)
	}
}

func TestNear(t *testing.T) {
	for _, c := range []struct {
		told, truth time.Duration
		want        bool
	}{
		{time.Minute, time.Minute, true}, {2 * time.Minute, time.Minute, true}, {time.Minute, 2 * time.Minute, true},
		{0, grain, true}, {3 * time.Minute, time.Minute, false}, {time.Minute, 3 * time.Minute, false},
	} {
		if near(c.told, c.truth) != c.want {
			t.Errorf("%v told, %v true: near is %t", c.told, c.truth, !c.want)
		}
	}
}
