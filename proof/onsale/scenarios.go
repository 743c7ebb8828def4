package onsale

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"text/tabwriter"
	"time"
)

// exponential stays have no memory.
func exponential(mean time.Duration) func(*rand.Rand) time.Duration {
	return func(draw *rand.Rand) time.Duration { return time.Duration(draw.ExpFloat64() * float64(mean)) }
}

// lognormal stays are those of people with a task: few are short, and some long.
func lognormal(median time.Duration, sigma float64) func(*rand.Rand) time.Duration {
	return func(draw *rand.Rand) time.Duration {
		return time.Duration(math.Exp(sigma*draw.NormFloat64()) * float64(median))
	}
}

// forever is longer than every room allows.
func forever(*rand.Rand) time.Duration { return 1000 * time.Hour }

// AllWaits are the on-sales of the report: a line of many times the places that
// forms at once, with people who stay for different times.
func AllWaits(seed uint64) []Waits {
	all := []Waits{
		{Name: "exponential, 3 min", Stay: exponential(3 * time.Minute)},
		{Name: "lognormal, median 3 min, σ 0.5", Stay: lognormal(3*time.Minute, 0.5)},
		{Name: "lognormal, median 2 min, σ 1", Stay: lognormal(2*time.Minute, 1)},
		{Name: "all to the limit of 10 min", Stay: forever},
		{Name: "exponential, 3 min, 20 % do not come", Stay: exponential(3 * time.Minute), Missing: 0.2},
		{Name: "lognormal, 3 min, σ 0.5, 50 % do not come", Stay: lognormal(3*time.Minute, 0.5), Missing: 0.5},
		{Name: "a third to the limit, others 20 s", Stay: func(draw *rand.Rand) time.Duration {
			if draw.Float64() < 1.0/3 {
				return forever(draw)
			}
			return exponential(20 * time.Second)(draw)
		}},
		{Name: "exponential, 4 s: the batch decides", Stay: exponential(4 * time.Second), People: 20_000},
		{Name: "exponential, 3 min, a threshold of 20", Stay: exponential(3 * time.Minute), Threshold: 20, People: 500},
	}
	for i := range all {
		w := &all[i]
		w.Threshold = cmp.Or(w.Threshold, 1000)
		w.People = cmp.Or(w.People, 8000)
		w.Batch = cmp.Or(w.Batch, 100)
		w.Arrive, w.Active, w.Seed = 10*time.Second, 10*time.Minute, seed
	}
	return all
}

// WaitsTable carries out all on-sales of AllWaits, and writes their reports: which
// part of the told waits was within a factor of two of the truth, and to which part of
// the people the wait was told right for most of the time.
func WaitsTable(ctx context.Context, seed uint64, out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "stays\tlongest wait\ttold first\thalfway\tall\tpeople\t")
	for _, w := range AllWaits(seed) {
		r, err := w.Run(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(t, "%s\t%s\t%.0f %%\t%.0f %%\t%.0f %%\t%.0f %%\t\n", r.Name, r.Waited, 100*r.First, 100*r.Half, 100*r.All, 100*r.People)
	}
	return t.Flush()
}
