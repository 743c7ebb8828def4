package busbench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/bench/report"
)

// Config sizes a run. The zero value is the published one. A transport whose
// server is not named is left out.
type Config struct {
	Postgres, MariaDB, Redis, RabbitMQ string // URLs
	Brokers                            string // of Kafka, separated by commas

	Size    int           // bytes of payload; 500
	Window  time.Duration // of each measurement of publishing; 400 ms
	Backlog int           // messages to consume, as far as they are published in two seconds; 20,000
	Rounds  int           // interleaved rounds; 3
	Prefix  string        // of everything that is made; "bench"
}

func (c Config) withDefaults() Config {
	for _, f := range []struct {
		field   *int
		initial int
	}{{&c.Size, 500}, {&c.Backlog, 20_000}, {&c.Rounds, 3}} {
		if *f.field == 0 {
			*f.field = f.initial
		}
	}
	if c.Window == 0 {
		c.Window = 400 * time.Millisecond
	}
	if c.Prefix == "" {
		c.Prefix = "bench"
	}
	return c
}

// result of one cell of the table.
type result struct {
	rate float64       // messages per second
	cpu  time.Duration // of this process, per message
}

// figures are a transport's cells, in the order of columns.
type figures [len(columns)]result

var columns = [...]string{"1 caller", "64 callers", "500 per call", "consume"}

// charts and titles are of the same columns.
var (
	charts = [len(columns)]string{"one", "many", "batches", "consume"}
	titles = [len(columns)]string{"Publishing, one caller", "Publishing, 64 callers", "Publishing, 500 messages a call", "Consuming, the handler does nothing"}
)

// Run measures and writes the report.
func Run(ctx context.Context, cfg Config, out *report.Recorder) error {
	cfg = cfg.withDefaults()
	list := transports(cfg)
	all := map[string][]figures{}
	for round := 1; round <= cfg.Rounds; round++ {
		out.Round(round, cfg.Rounds)
		for _, t := range list {
			f, err := measure(ctx, cfg, t)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			all[t.name] = append(all[t.name], f)
			fmt.Fprintf(out, "round %d  %-44s %9.0f %9.0f %9.0f %9.0f messages/s\n", round, t.name, f[0].rate, f[1].rate, f[2].rate, f[3].rate)
		}
	}
	out.Title("medians of %d rounds; messages/s of %d B (CPU µs of this process per message); 1000 keys", cfg.Rounds, cfg.Size)
	fmt.Fprintf(out, "%-44s", "transport")
	for _, c := range columns {
		fmt.Fprintf(out, " %16s", c)
	}
	fmt.Fprintln(out)
	medians := map[string]figures{}
	for i, c := range columns {
		out.Chart(report.Chart{Name: charts[i], Title: titles[i], Unit: "messages/s", Note: c})
	}
	for _, t := range list {
		var m figures
		for i := range m {
			m[i].rate = report.Median(all[t.name], func(f figures) float64 { return f[i].rate })
			m[i].cpu = report.Median(all[t.name], func(f figures) time.Duration { return f[i].cpu })
		}
		medians[t.name] = m
		role := report.Ours
		if t.peerOf != "" {
			role = report.Peer
		}
		for i := range m {
			out.Figure(report.Figure{Chart: charts[i], Name: strings.TrimSpace(t.name), Role: role, CPU: report.Number(report.Micros(m[i].cpu)),
				Rounds: report.Rounds(all[t.name], func(f figures) float64 { return f[i].rate })})
		}
		fmt.Fprintf(out, "%-44s", t.name)
		for _, r := range m {
			fmt.Fprintf(out, " %16s", fmt.Sprintf("%.0f (%.0f)", r.rate, report.Micros(r.cpu)))
		}
		fmt.Fprintln(out)
		if t.peerOf == "" {
			continue
		}
		fmt.Fprintf(out, "%-44s", "  ratio")
		for i, r := range m {
			fmt.Fprintf(out, " %16.1f", float64(report.Ratio(medians[t.peerOf][i].rate, r.rate, "").Ratio))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
	for _, t := range list {
		for i, r := range medians[t.name] {
			if t.peerOf != "" {
				out.Told(fmt.Sprintf("%s, %s / %s", t.peerOf, columns[i], strings.TrimSpace(t.name)), report.Ratio(medians[t.peerOf][i].rate, r.rate, "messages/s"))
			}
		}
	}
	return nil
}

// measure fills a transport's row, once.
func measure(ctx context.Context, cfg Config, t transport) (f figures, err error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	o, err := t.open(ctx, cfg)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	for i, p := range []publishing{{1, 1}, {64, 1}, {1, 500}} {
		if f[i], err = p.measure(ctx, cfg, o); err != nil {
			return f, fmt.Errorf("%s: %w", columns[i], err)
		}
	}
	if f[3], err = consume(ctx, cfg, o); err != nil {
		return f, fmt.Errorf("consume: %w", err)
	}
	return f, nil
}

// deadline bounds one row.
const deadline = time.Minute
