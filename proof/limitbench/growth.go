package limitbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/proof/part"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/proof/report"
	"github.com/millrace-go/millrace/proof/together"
)

// Growth sizes a run of [RunGrowth]. The zero value is the published one.
type Growth struct {
	URL       string        // of Redis, when there is no redis-server to start
	Callers   []int         // of each process; 1, 4, 16, 64, 256 and 1,024
	Processes []int         // 1, 2, 4 and 8
	Span      time.Duration // of each measurement; 1 s
	Rounds    int           // interleaved rounds; 3
	PoolSize  int           // connections of each process; 10 for each processor
	Prefix    string        // of the keys; "grow"
}

func (g Growth) withDefaults() Growth {
	if g.Callers == nil {
		g.Callers = []int{1, 4, 16, 64, 256, 1024}
	}
	if g.Processes == nil {
		g.Processes = []int{1, 2, 4, 8}
	}
	g.Span = cmp.Or(g.Span, time.Second)
	g.Rounds = cmp.Or(g.Rounds, 3)
	g.PoolSize = cmp.Or(g.PoolSize, 10*runtime.GOMAXPROCS(0))
	g.Prefix = cmp.Or(g.Prefix, "grow")
	return g
}

// cell is a point of the plot.
type cell struct {
	who                string
	processes, callers int
}

// RunGrowth measures how decisions grow with callers and processes, all on one hot
// key, beside a client that sends an empty script for each decision. It leaves
// nothing behind.
func RunGrowth(ctx context.Context, cfg Growth, out *report.Recorder) (err error) {
	cfg = cfg.withDefaults()
	s, err := redisserver.Open(ctx, cfg.URL)
	if err != nil {
		return fmt.Errorf("open Redis: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if !s.Own {
		defer func() {
			err = errors.Join(err, place.SweepRedis(context.WithoutCancel(ctx), cfg.URL, "{"+cfg.Prefix+"-"))
		}()
	}
	all := map[cell][]report.Pace{}
	for round := 1; round <= cfg.Rounds; round++ {
		out.Round(round, cfg.Rounds)
		for _, n := range cfg.Processes {
			if err := cfg.among(ctx, s, n, round, all, out); err != nil {
				return fmt.Errorf("round %d, %d processes: %w", round, n, err)
			}
		}
	}
	cfg.record(all, out)
	return nil
}

// among measures so many processes, with all numbers of callers.
func (g Growth) among(ctx context.Context, s *redisserver.Server, processes, round int, all map[cell][]report.Pace, out *report.Recorder) (err error) {
	parts := make([]*part.Part, processes)
	defer func() {
		for _, p := range parts {
			err = errors.Join(err, p.Close())
		}
	}()
	for i := range parts {
		key := fmt.Sprintf("%s-%d-%d", g.Prefix, round, processes)
		if parts[i], err = part.Start(ctx, Part, s.URL, key, strconv.Itoa(g.PoolSize)); err != nil {
			return err
		}
	}
	for _, callers := range g.Callers {
		for _, who := range []string{millrace, empty} {
			if _, err := atOnce(ctx, parts, "warm %q %d %d", who, callers, g.Span.Milliseconds()/5); err != nil {
				return err
			}
			got, err := atOnce(ctx, parts, "run %q %d %d", who, callers, g.Span.Milliseconds())
			if err != nil {
				return err
			}
			at := cell{who, processes, callers}
			all[at] = append(all[at], got)
			fmt.Fprintf(out, "round %d  %d processes  %4d callers each  %-14s %10.0f decisions/s\n", round, processes, callers, who, got.Rate)
		}
	}
	return nil
}

// atOnce asks all processes concurrently, and adds up their results.
func atOnce(ctx context.Context, parts []*part.Part, format string, args ...any) (sum report.Pace, err error) {
	answers := make([][]float64, len(parts))
	if err := together.All(len(parts), func(i int) (err error) {
		answers[i], err = parts[i].Ask(ctx, format, args...)
		return err
	}); err != nil {
		return sum, err
	}
	decisions, cpu := 0.0, 0.0
	for _, a := range answers {
		if len(a) != 3 || a[1] <= 0 {
			return sum, fmt.Errorf("a process answered %v", a)
		}
		decisions += a[0]
		sum.Rate += a[0] / a[1] * 1e9
		cpu += a[2]
	}
	if decisions > 0 {
		sum.CPU = time.Duration(cpu / decisions)
	}
	return sum, nil
}

// record keeps the results.
func (g Growth) record(all map[cell][]report.Pace, out *report.Recorder) {
	out.Title("medians of %d rounds of %s; one hot key; each process has %d connections", g.Rounds, g.Span, g.PoolSize)
	out.Chart(report.Chart{
		Name: "decisions", Title: "Decisions of a rate limiter, by callers and processes", Unit: "decisions/s", X: "callers of each process",
		Note: "solid: millrace; dashed, of the same colour: an empty script for each decision",
	})
	rate := func(p report.Pace) float64 { return p.Rate }
	for i, n := range g.Processes {
		for _, line := range []struct {
			who, name string
			role      report.Role
		}{{millrace, processes(n), report.Ours}, {empty, "limit: empty script, " + processes(n), report.Limit}} {
			for _, callers := range g.Callers {
				report.Paced(out, report.Figure{Chart: "decisions", Name: line.name, Role: line.role, Colour: i, X: report.Number(callers)},
					all[cell{line.who, n, callers}], report.Pace.Itself)
			}
		}
	}
	for _, n := range g.Processes {
		for _, callers := range g.Callers {
			out.Told(fmt.Sprintf("decisions/s, %s of %d callers / an empty script each", processes(n), callers),
				report.Between(all[cell{millrace, n, callers}], all[cell{empty, n, callers}], rate, "decisions/s"))
		}
	}
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}
