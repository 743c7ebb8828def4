package ssebench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/proof/report"
)

// Growth sizes a run of [RunGrowth]. The zero value is the published one.
type Growth struct {
	Streams []int         // 1,000, 5,000, 10,000, 25,000 and 50,000
	Size    int           // bytes of an event on the wire; 200
	Span    time.Duration // of each load; 2 s
	Rounds  int           // interleaved rounds; 3
	Most    int           // streams of a process; as many as it may have files
}

func (g Growth) withDefaults() Growth {
	c := Config{Size: g.Size, Span: g.Span, Most: g.Most}.withDefaults()
	g.Size, g.Span, g.Most = c.Size, c.Span, c.Most
	if g.Streams == nil {
		g.Streams = []int{1000, 5000, 10_000, 25_000, 50_000}
	}
	g.Rounds = cmp.Or(g.Rounds, 3)
	return g
}

// growers are those whose growth is measured, in the order of a round.
var growers = [...]string{bareWrites, portable, lean}

// grown is the result of one of them in one round.
type grown struct {
	idle float64 // bytes of memory for each stream
	pace report.Pace
}

// at is a point of a plot.
type at struct {
	who     string
	streams int
}

// RunGrowth measures how memory and fan-out grow with the number of streams. If
// there are more than a process may have files, several servers share them, which
// send at the same time.
func RunGrowth(ctx context.Context, cfg Growth, out *report.Recorder) error {
	cfg = cfg.withDefaults()
	if cfg.Most < 1 || cfg.Size < minSize {
		return fmt.Errorf("a process may have %d streams, and an event has %d bytes; give at least 1 and %d", cfg.Most, cfg.Size, minSize)
	}
	var places []at
	for _, n := range cfg.Streams {
		for _, who := range growers {
			places = append(places, at{who, n})
		}
	}
	all, err := report.Interleave(out, cfg.Rounds, places, func(_ int, p at) (grown, string, error) {
		got, err := grow(ctx, cfg, p.who, p.streams)
		return got, fmt.Sprintf("%6d streams  %-18s %6.2f kB a stream  %6.0f k/s", p.streams, p.who, got.idle/1e3, got.pace.Rate/1e3), err
	})
	if err != nil {
		return err
	}
	cfg.record(all, out)
	return nil
}

// grow opens the streams and sends to all of them.
func grow(ctx context.Context, cfg Growth, who string, streams int) (_ grown, err error) {
	f, err := openFleet(ctx, Config{Size: cfg.Size, Most: cfg.Most}, who, streams, time.Hour)
	defer func() { err = errors.Join(err, f.close()) }()
	if err != nil {
		return grown{}, err
	}
	bytes := 0.0
	for _, p := range f {
		bytes += p.idle * float64(p.conns)
	}
	got := grown{idle: bytes / float64(streams)}
	got.pace, err = f.load(ctx, cfg.Span, 1)
	return got, err
}

// record keeps the results.
func (g Growth) record(all map[at][]grown, out *report.Recorder) {
	out.Title("medians of %d rounds of %s; events of %d B; at most %d streams in a process", g.Rounds, g.Span, g.Size, g.Most)
	out.Chart(report.Chart{Name: "fan-out", Title: "An event to everybody, by the number of streams", Unit: "events/s", X: "open streams", Note: "what all streams get together"})
	out.Chart(report.Chart{Name: "memory", Title: "Memory of an idle stream, by their number", Unit: "kB", X: "open streams", Note: "of the servers' processes"})
	for _, who := range growers {
		role, name, colour := report.Ours, who, 0
		switch who {
		case bareWrites:
			role, name, colour = report.Limit, "limit: a bare write for each", -1
		case lean:
			colour = 1
		}
		for _, n := range g.Streams {
			got := all[at{who, n}]
			report.Paced(out, report.Figure{Chart: "fan-out", Name: name, Role: role, Colour: colour, X: report.Number(n)}, got, func(v grown) report.Pace { return v.pace })
			out.Figure(report.Figure{Chart: "memory", Name: name, Role: role, Colour: colour, X: report.Number(n), Rounds: report.Rounds(got, func(v grown) float64 { return v.idle / 1e3 })})
		}
	}
	for _, who := range []string{portable, lean} {
		for _, n := range g.Streams {
			out.Told(fmt.Sprintf("events/s to %d streams, %s / bare writes", n, who),
				report.Between(all[at{who, n}], all[at{bareWrites, n}], func(v grown) float64 { return v.pace.Rate }, "events/s"))
		}
	}
}
