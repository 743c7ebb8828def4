package batchbench

import (
	"cmp"
	"context"
	"fmt"

	"github.com/millrace-go/millrace/proof/report"
)

// Config sizes a run. The zero value is the published one.
type Config struct {
	URL     string // PostgreSQL
	Brokers string // of Kafka, separated by commas
	Single  int    // views that are counted one by one; 2000
	Many    int    // views that are counted in batches; 20,000
	Rounds  int    // interleaved rounds; 5
	Prefix  string // of the schema, topics and groups; "bench"
}

func (c Config) withDefaults() Config {
	c.Single = cmp.Or(c.Single, 2000)
	c.Many = cmp.Or(c.Many, 20_000)
	c.Rounds = cmp.Or(c.Rounds, 5)
	c.Prefix = cmp.Or(c.Prefix, "bench")
	return c
}

// result is the result of one consumer's run.
type result struct {
	report.Pace         // of views, from the first handler's start to the last one's end
	perBatch    float64 // views per batch; 1 when sequential
}

// Run measures and writes the report. It leaves nothing behind.
func Run(ctx context.Context, cfg Config, out *report.Recorder) error {
	cfg = cfg.withDefaults()
	type line struct {
		ground string
		work   work
	}
	var lines []line
	all := map[line][]result{}
	for _, ground := range grounds {
		for _, w := range []work{{}, {batch: true}, {guarded: true}, {guarded: true, batch: true}} {
			lines = append(lines, line{ground.name, w})
		}
	}
	for round := 1; round <= cfg.Rounds; round++ {
		out.Round(round, cfg.Rounds)
		for _, ground := range grounds {
			if err := inPlace(ctx, cfg, ground, func(p prepared) error {
				for _, l := range lines {
					if l.ground != ground.name {
						continue
					}
					got, err := p.count(ctx, l.work, cfg)
					if err != nil {
						return fmt.Errorf("%s: %w", l.work, err)
					}
					all[l] = append(all[l], got)
					fmt.Fprintf(out, "round %d  %-24s %-22s %9.0f views/s\n", round, l.ground, l.work, got.Rate)
				}
				return nil
			}); err != nil {
				return fmt.Errorf("%s: %w", ground.name, err)
			}
		}
	}
	out.Title("medians of %d rounds; %d views one by one (8 shows in parallel), %d in batches of up to 100; 50 shows", cfg.Rounds, cfg.Single, cfg.Many)
	fmt.Fprintf(out, "%-24s %-22s %10s %12s %12s\n", "bus and database", "consumer", "views/s", "CPU µs/view", "views/batch")
	rate := map[line]float64{}
	out.Chart(report.Chart{Name: "views", Title: "Counting views, one by one and in batches", Unit: "views/s"})
	for _, l := range lines {
		role := report.Peer // a batch is compared with the sequential consumer
		if l.work.batch {
			role = report.Ours
		}
		median := report.Paced(out, report.Figure{Chart: "views", Name: l.ground + ": " + l.work.String(), Role: role}, all[l], result.Itself)
		rate[l] = median.Rate
		fmt.Fprintf(out, "%-24s %-22s %10.0f %12.1f %12.0f\n", l.ground, l.work, median.Rate, report.Micros(median.CPU),
			report.Median(all[l], func(r result) float64 { return r.perBatch }))
	}
	fmt.Fprintln(out)
	for _, ground := range grounds {
		for _, guarded := range []bool{false, true} {
			ratio := report.Ratio(rate[line{ground.name, work{guarded: guarded, batch: true}}], rate[line{ground.name, work{guarded: guarded}}], "views/s")
			what := "batch / sequential, " + ground.name
			if guarded {
				what += ", each once"
			}
			out.AtLeast(what, ratio, 5)
		}
	}
	return nil
}
