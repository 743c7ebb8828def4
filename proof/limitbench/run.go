package limitbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/proof/report"
)

// Config sizes a run. The zero value is the published one.
type Config struct {
	URL      string        // of Redis, when there is no redis-server to start
	Span     time.Duration // of each measurement; 2 s
	Lone     int           // decisions of a lone caller; 10,000
	Herds    int           // of 1,000 requests each; 50
	Rounds   int           // interleaved rounds; 5
	PoolSize int           // connections of each client; 10 for each processor, as go-redis has it
	Prefix   string        // of the keys; "bench"
}

func (c Config) withDefaults() Config {
	c.Lone = cmp.Or(c.Lone, 10_000)
	c.Herds = cmp.Or(c.Herds, 50)
	c.Rounds = cmp.Or(c.Rounds, 5)
	c.PoolSize = cmp.Or(c.PoolSize, 10*runtime.GOMAXPROCS(0))
	c.Span = cmp.Or(c.Span, 2*time.Second)
	c.Prefix = cmp.Or(c.Prefix, "bench")
	return c
}

// requests of a herd.
const requests = 1000

// line is one of the table.
type line struct {
	what string // "granted", "denied"
	n    int    // callers
	name string
}

// lines in the order of the table, and of a round.
func lines() []line {
	var all []line
	for _, n := range []int{64, 512} {
		for _, c := range contenders() {
			all = append(all, line{"granted", n, c.name})
		}
	}
	for _, c := range contenders() {
		all = append(all, line{"denied", 512, c.name})
	}
	return all
}

// figures are the results of all rounds.
type figures struct {
	loads map[line][]result
	lone  map[string][]time.Duration
	herds map[string][]result

	charted map[string]bool
}

// Run measures and writes the report. It leaves nothing behind.
func Run(ctx context.Context, cfg Config, out *report.Recorder) (err error) {
	cfg = cfg.withDefaults()
	s, err := redisserver.Open(ctx, cfg.URL)
	if err != nil {
		return fmt.Errorf("open Redis: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if !s.Own {
		fmt.Fprintln(out, "there is no redis-server in PATH: figures of Redis count what others do with the given one")
		defer func() {
			for _, prefix := range []string{"{" + cfg.Prefix + "-", "rate:" + cfg.Prefix + "-", "limiter:" + cfg.Prefix + "-", "bench:{" + cfg.Prefix + "-", "bench:nx:" + cfg.Prefix + "-"} {
				err = errors.Join(err, place.SweepRedis(context.WithoutCancel(ctx), cfg.URL, prefix))
			}
		}()
	}
	f := figures{loads: map[line][]result{}, lone: map[string][]time.Duration{}, herds: map[string][]result{}, charted: map[string]bool{}}
	for round := 1; round <= cfg.Rounds; round++ {
		out.Round(round, cfg.Rounds)
		if err := f.round(ctx, s, cfg, round, out); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	f.table(cfg, out)
	f.goals(out)
	return nil
}

// round measures everything once.
func (f *figures) round(ctx context.Context, s *redisserver.Server, cfg Config, round int, out *report.Recorder) error {
	for _, l := range lines() {
		if err := inTurn(ctx, s, cfg, l.name, fmt.Sprintf("%s-%s-%d-%d", cfg.Prefix, l.what, l.n, round), l.what == "denied", func(ask decide) error {
			if err := warm(ctx, l.n, l.what == "denied", ask); err != nil {
				return fmt.Errorf("warm up: %w", err)
			}
			got, err := load(ctx, s, l.n, cfg.Span, l.what == "denied", ask)
			if err != nil {
				return err
			}
			f.loads[l] = append(f.loads[l], got)
			fmt.Fprintf(out, "round %d  %-8s %4d callers  %-14s %10.0f decisions/s\n", round, l.what, l.n, l.name, got.Rate)
			return nil
		}); err != nil {
			return fmt.Errorf("%s, %s, %d callers: %w", l.name, l.what, l.n, err)
		}
	}
	if err := f.alone(ctx, s, cfg, round); err != nil {
		return fmt.Errorf("a lone caller: %w", err)
	}
	for _, h := range herds() {
		got, err := h.run(ctx, s, cfg.PoolSize, cfg.Herds, requests, fmt.Sprintf("%s-%d-", cfg.Prefix, round))
		if err != nil {
			return fmt.Errorf("a herd, %s: %w", h.name, err)
		}
		f.herds[h.name] = append(f.herds[h.name], got)
		fmt.Fprintf(out, "round %d  herds of %d requests   %-14s %10.0f decisions/s\n", round, requests, h.name, got.Rate)
	}
	return nil
}

// alone measures a lone caller of each contender.
func (f *figures) alone(ctx context.Context, s *redisserver.Server, cfg Config, round int) (err error) {
	var asks []decide
	for _, c := range contenders() {
		ask, done, failed := c.open(ctx, s, fmt.Sprintf("%s-lone-%d", cfg.Prefix, round), cfg.PoolSize, false)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, done()) }()
		if err := warm(ctx, 1, false, ask); err != nil {
			return fmt.Errorf("%s: warm up: %w", c.name, err)
		}
		asks = append(asks, ask)
	}
	medians, err := lone(ctx, cfg.Lone, asks)
	if err != nil {
		return err
	}
	for i, c := range contenders() {
		f.lone[c.name] = append(f.lone[c.name], medians[i])
	}
	return nil
}

// inTurn opens a contender for fn.
func inTurn(ctx context.Context, s *redisserver.Server, cfg Config, name, key string, denied bool, fn func(decide) error) (err error) {
	for _, c := range contenders() {
		if c.name != name {
			continue
		}
		ask, done, err := c.open(ctx, s, key, cfg.PoolSize, denied)
		if err != nil {
			return err
		}
		return errors.Join(fn(ask), done())
	}
	return fmt.Errorf("there is no contender %q", name)
}

// table writes the medians.
func (f *figures) table(cfg Config, out *report.Recorder) {
	out.Title("medians of %d rounds of %s; one hot key; each client has %d connections", cfg.Rounds, cfg.Span, cfg.PoolSize)
	fmt.Fprintf(out, "%-8s %8s  %-14s %12s %14s %12s %14s %10s\n",
		"", "callers", "limiter", "decisions/s", "Redis CPU µs", "CPU µs", "calls/decision", "others")
	row := func(what, callers, name string, all []result) {
		fmt.Fprintf(out, "%-8s %8s  %-14s %12.0f %14.3f %12.3f %14.4f %9.2f%%\n", what, callers, name,
			report.Median(all, func(r result) float64 { return r.Rate }),
			report.Median(all, func(r result) float64 { return report.Micros(r.Redis) }),
			report.Median(all, func(r result) float64 { return report.Micros(r.CPU) }),
			report.Median(all, func(r result) float64 { return r.Calls }),
			report.Median(all, func(r result) float64 { return 100 * r.others }))
	}
	chart := func(name, title string, all []result, who string) {
		role := report.Peer
		if who == millrace || who == coalescer {
			role = report.Ours
		}
		if !f.charted[name] {
			f.charted[name] = true
			out.Chart(report.Chart{Name: name, Title: title, Unit: "decisions/s", Note: "one hot key of Redis"})
		}
		report.Paced(out, report.Figure{Chart: name, Name: who, Role: role,
			EngineCPU: report.Number(report.Median(all, func(r result) float64 { return report.Micros(r.Redis) }))}, all, result.Itself)
	}
	for _, l := range lines() {
		row(l.what, fmt.Sprint(l.n), l.name, f.loads[l])
		chart(fmt.Sprintf("%s-%d", l.what, l.n), fmt.Sprintf("Decisions, %s, %d callers", l.what, l.n), f.loads[l], l.name)
	}
	for _, h := range herds() {
		row("herd", fmt.Sprint(requests), h.name, f.herds[h.name])
		chart("herd", fmt.Sprintf("Who of %d refreshes a key", requests), f.herds[h.name], h.name)
	}
	fmt.Fprintln(out)
	for _, c := range contenders() {
		fmt.Fprintf(out, "a lone caller waits  %-14s p50 %7.1f µs\n", c.name, report.Micros(f.median(c.name)))
	}
	fmt.Fprintln(out)
}

func (f *figures) median(name string) time.Duration {
	return report.Median(f.lone[name], func(d time.Duration) time.Duration { return d })
}
