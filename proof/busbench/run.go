package busbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/proof/report"
)

// Config sizes a run. The zero value is the published one. A transport without a
// server is left out.
type Config struct {
	Postgres, MariaDB, Redis, RabbitMQ string // URLs
	Brokers                            string // of Kafka, separated by commas

	Size    int           // bytes of payload; 500
	Window  time.Duration // of each measurement of publishing; 1 s
	Backlog int           // messages to consume, as far as they are published in two seconds; 20,000
	Rounds  int           // interleaved rounds; 5
	Prefix  string        // of everything that is made; "bench"
}

func (c Config) withDefaults() Config {
	c.Size = cmp.Or(c.Size, 500)
	c.Backlog = cmp.Or(c.Backlog, 20_000)
	c.Rounds = cmp.Or(c.Rounds, 5)
	c.Window = cmp.Or(c.Window, time.Second)
	c.Prefix = cmp.Or(c.Prefix, "bench")
	return c
}

// figures are a transport's cells, in the order of columns.
type figures [len(columns)]report.Pace

var columns = [...]string{"1 caller", "64 callers", "500 per call", "consume"}

// charts and titles are of the same columns.
var (
	charts = [len(columns)]string{"one", "many", "batches", "consume"}
	goals  = [len(columns)]float64{0.9, 1, 1, 1} // of ours beside the peer
	titles = [len(columns)]string{"Publishing, one caller", "Publishing, 64 callers", "Publishing, 500 messages a call", "Consuming, the handler does nothing"}
)

// Run measures and writes the report.
func Run(ctx context.Context, cfg Config, out *report.Recorder) error {
	cfg = cfg.withDefaults()
	list := transports(cfg)
	all := map[string][]figures{}
	for round := 1; round <= cfg.Rounds; round++ {
		out.Round(round, cfg.Rounds)
		for _, pair := range pairs(list) {
			rows, err := measure(ctx, cfg, round, pair)
			if err != nil {
				return err
			}
			for i, t := range pair {
				f := rows[i]
				all[t.name] = append(all[t.name], f)
				fmt.Fprintf(out, "round %d  %-44s %9.0f %9.0f %9.0f %9.0f messages/s\n", round, t.name, f[0].Rate, f[1].Rate, f[2].Rate, f[3].Rate)
			}
		}
	}
	out.Title("medians of %d rounds; messages/s of %d B (CPU µs of this process per message); 1000 keys", cfg.Rounds, cfg.Size)
	fmt.Fprintf(out, "%-44s", "transport")
	for _, c := range columns {
		fmt.Fprintf(out, " %16s", c)
	}
	fmt.Fprintln(out)
	for i, c := range columns {
		out.Chart(report.Chart{Name: charts[i], Title: titles[i], Unit: "messages/s", Note: c})
	}
	for _, t := range list {
		role := report.Ours
		if t.peerOf != "" {
			role = report.Peer
		}
		fmt.Fprintf(out, "%-44s", t.name)
		for i := range columns {
			median := report.Paced(out, report.Figure{Chart: charts[i], Name: strings.TrimSpace(t.name), Role: role},
				all[t.name], func(f figures) report.Pace { return f[i] })
			fmt.Fprintf(out, " %16s", fmt.Sprintf("%.0f (%.0f)", median.Rate, report.Micros(median.CPU)))
		}
		fmt.Fprintln(out)
		if t.peerOf == "" {
			continue
		}
		fmt.Fprintf(out, "%-44s", "  ratio")
		for i := range columns {
			fmt.Fprintf(out, " %16.2f", float64(between(all, t, i).Ratio))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
	for _, t := range list {
		for i, c := range columns {
			if t.peerOf != "" {
				out.AtLeast(fmt.Sprintf("%s, %s / %s", t.peerOf, c, strings.TrimSpace(t.name)), between(all, t, i), goals[i])
			}
		}
	}
	return nil
}

// between compares a column of ours with its peer's.
func between(all map[string][]figures, peer transport, column int) report.Measured {
	return report.Between(all[peer.peerOf], all[peer.name], func(f figures) float64 { return f[column].Rate }, "messages/s")
}

// pairs are ours, each with its peer if it has one.
func pairs(list []transport) (all [][]transport) {
	for _, t := range list {
		if t.peerOf == "" {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], t)
	}
	return all
}

// measure fills the rows of a pair, once. Each column is measured of both before the next one,
// in turns, so that disturbances of the machine and leftovers on the server are the same for
// both.
func measure(ctx context.Context, cfg Config, round int, pair []transport) (rows []figures, err error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	var open []*opened
	for _, t := range pair {
		o, failed := t.open(ctx, cfg)
		if failed != nil {
			return nil, fmt.Errorf("%s: %w", t.name, failed)
		}
		defer func() { err = errors.Join(err, o.close()) }()
		open = append(open, o)
	}
	rows = make([]figures, len(pair))
	for column := range columns {
		for turn := range pair {
			i := (round + column + turn) % len(pair)
			if rows[i][column], err = fill(ctx, cfg, open[i], column); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", pair[i].name, columns[column], err)
			}
		}
	}
	return rows, nil
}

// fill measures one cell.
func fill(ctx context.Context, cfg Config, o *opened, column int) (report.Pace, error) {
	if column == len(columns)-1 {
		return consume(ctx, cfg, o)
	}
	return []publishing{{1, 1}, {64, 1}, {1, 500}}[column].measure(ctx, cfg, o)
}

// deadline bounds the rows of a pair.
const deadline = 2 * time.Minute
