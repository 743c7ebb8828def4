package gatebench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/percentile"
	"github.com/millrace-go/millrace/proof/part"
	"github.com/millrace-go/millrace/proof/report"
)

// result is the result of one contender in one round.
type result struct {
	p50, p99         time.Duration // of the open loop
	openCPU, flatCPU time.Duration // of the proxy, for each request
	rate             float64       // requests a second, flat out
}

// warm is how long each load goes on before it is measured.
const warm = 300 * time.Millisecond

// Run measures and writes the report. It leaves nothing behind.
func Run(ctx context.Context, cfg Config, out *report.Recorder) (err error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return err
	}
	g, err := prepare(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(g.folder)) }()
	versions, err := g.versions(ctx)
	if err != nil {
		return err
	}
	out.Setting("%s", versions)
	v, err := newVisitors()
	if err != nil {
		return err
	}
	all, err := g.rounds(ctx, cfg, v, out)
	if err != nil {
		return err
	}
	cfg.record(all, out)
	return g.memory(ctx, cfg, v, out)
}

// rounds measures all contenders, which stay up.
func (g grounds) rounds(ctx context.Context, cfg Config, v visitors, out *report.Recorder) (all map[string][]result, err error) {
	site, err := part.Start(ctx, Part)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	origin, err := site.Next(ctx)
	if err != nil {
		return nil, err
	}
	at, processes := map[string]string{direct: origin}, map[string]*launch.Process{}
	for _, name := range contenders {
		if name == direct {
			continue
		}
		address, p, err := g.proxy(ctx, name, origin)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer func() { err = errors.Join(err, p.Stop(startTimeout)) }()
		at[name], processes[name] = address, p
	}
	requests, err := v.enter(ctx, at[gated], cfg.Conns)
	if err != nil {
		return nil, err
	}
	return report.Interleave(out, cfg.Rounds, contenders, func(_ int, name string) (result, string, error) {
		got, err := measure(ctx, cfg, at[name], requests, processes[name])
		return got, fmt.Sprintf("%-18s p50 %6s ms  p99 %6s ms  %8.0f requests/s flat out, %6.1f µs CPU each", name, report.MS(got.p50), report.MS(got.p99), got.rate, report.Micros(got.flatCPU)), err
	})
}

// measure loads one contender. Without a process it is the origin itself.
func measure(ctx context.Context, cfg Config, at string, requests [][]byte, p *launch.Process) (got result, err error) {
	l, err := open(ctx, at, requests)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if _, err := l.flat(warm); err != nil {
		return got, err
	}
	used := func() (time.Duration, error) {
		if p == nil {
			return 0, nil
		}
		return p.CPU()
	}
	before, err := used()
	if err != nil {
		return got, err
	}
	took, err := l.open(cfg.Rate, cfg.requests())
	if err != nil {
		return got, fmt.Errorf("open loop: %w", err)
	}
	between, err := used()
	if err != nil {
		return got, err
	}
	start := time.Now()
	n, err := l.flat(cfg.Span)
	if err != nil {
		return got, fmt.Errorf("flat out: %w", err)
	}
	lasted := time.Since(start)
	after, err := used()
	got.p50, got.p99 = percentile.Of(took, 0.5), percentile.Of(took, 0.99)
	got.openCPU, got.flatCPU = (between-before)/time.Duration(max(1, len(took))), (after-between)/time.Duration(max(1, n))
	got.rate = float64(n) / lasted.Seconds()
	return got, err
}

// memory fills the rooms of two gates.
func (g grounds) memory(ctx context.Context, cfg Config, v visitors, out *report.Recorder) error {
	out.Title("%d people wait at one gate", cfg.People)
	out.Chart(report.Chart{Name: "memory", Title: "Memory of the gate while they wait", Unit: "MB"})
	for _, room := range []struct {
		name string
		fill func() (waiting, error)
	}{
		{"room in memory", func() (waiting, error) { return g.crowd(ctx, cfg.People, v, "") }},
		{"room on Redis", func() (waiting, error) { return g.crowdRedis(ctx, cfg.People, v, cfg.Redis) }},
	} {
		got, err := room.fill()
		if err != nil {
			return fmt.Errorf("%s: %w", room.name, err)
		}
		fmt.Fprintf(out, "%s: %.0f MB, %.0f MB before; they lined up in %s\n", room.name, got.full/1e6, got.empty/1e6, got.took.Round(time.Second))
		out.Figure(report.Figure{Chart: "memory", Name: room.name, Role: report.Ours, Rounds: []report.Number{report.Number(got.full / 1e6)}})
		out.Told("B of the gate for each person, "+room.name, report.Value((got.full-got.empty)/float64(cfg.People), "B"))
	}
	return nil
}
