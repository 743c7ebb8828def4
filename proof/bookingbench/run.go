package bookingbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/report"
)

// Config sizes a run. The zero value is the published one.
type Config struct {
	URL       string // PostgreSQL
	Brokers   string // of Kafka, separated by commas
	Cluster   string // nodes of a Redis Cluster, separated by commas
	Program   string // the boxoffice binary; built when empty, which needs the go tool and the tree
	Processes []int  // 1, 2, 4 and 8
	Callers   int    // of each process, one request each at a time; 8
	Bookings  int    // of each measurement, one seat each; 2,400 of the 2,500 there are
	Rounds    int    // interleaved rounds; 3
	Prefix    string // of the schema and the keys; "grow"
}

// hall is how many seats the box office has, over its shows.
const hall = 2500

func (c Config) withDefaults() Config {
	if c.Processes == nil {
		c.Processes = []int{1, 2, 4, 8}
	}
	c.Callers, c.Bookings, c.Rounds = cmp.Or(c.Callers, 8), cmp.Or(c.Bookings, 2400), cmp.Or(c.Rounds, 3)
	c.Prefix = cmp.Or(c.Prefix, "grow")
	return c
}

func (c Config) validate() error {
	switch {
	case c.Bookings > hall:
		return fmt.Errorf("the box office has %d seats and Bookings is %d; give fewer", hall, c.Bookings)
	case c.Bookings < 1 || c.Callers < 1 || c.Rounds < 1 || len(c.Processes) == 0 || slices.Min(c.Processes) < 1 || slices.Max(c.Processes) > 16:
		return errors.New("give at least one booking, caller and round, and 1 to 16 processes")
	case c.URL == "" || c.Brokers == "" || c.Cluster == "":
		return errors.New("a PostgreSQL URL, the brokers of Kafka and the nodes of a Redis Cluster are needed")
	}
	return nil
}

// result is the result of one number of processes in one round.
type result struct {
	booked    float64 // per second, until the last answer
	published float64 // per second, until the outbox was empty
	bare      float64 // per second, by bare SQL
	p50, p99  time.Duration
}

// Run measures and keeps the results.
func Run(ctx context.Context, cfg Config, out *report.Recorder) (err error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "millrace-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if cfg.Program == "" {
		if cfg.Program, err = launch.Build(ctx, dir, launch.Boxoffice); err != nil {
			return err
		}
	}
	all, err := report.Interleave(out, cfg.Rounds, cfg.Processes, func(round, n int) (result, string, error) {
		got, err := measure(ctx, cfg, filepath.Join(dir, fmt.Sprintf("%d-%d", round, n)), n)
		return got, fmt.Sprintf("%d processes  %7.0f bookings/s  %7.0f published/s  %7.0f/s by bare SQL  p50 %s ms", n, got.booked, got.published, got.bare, report.MS(got.p50)), err
	})
	if err != nil {
		return err
	}
	cfg.record(all, out)
	return nil
}

// deadline bounds one measurement, processes' start included.
const deadline = 4 * time.Minute

// measure books with so many processes, and then without any.
func measure(ctx context.Context, cfg Config, dir string, processes int) (got result, err error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	at, err := place.Postgres(cfg.URL, cfg.Prefix+"_bookings")
	if err != nil {
		return got, err
	}
	if err := at.Recreate(ctx); err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, at.Drop(context.WithoutCancel(ctx))) }()
	keys := fmt.Sprintf("%s-bookings-%d:", cfg.Prefix, time.Now().UnixNano())
	defer func() {
		err = errors.Join(err, sweep(context.WithoutCancel(ctx), cfg, keys))
	}()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return got, err
	}
	if err := withOffice(ctx, cfg, office{dir: dir, db: at.URL, keys: keys, processes: processes}, func(o *office) error {
		return book(ctx, cfg, o, &got)
	}); err != nil {
		return got, err
	}
	got.bare, err = bookBare(ctx, cfg, at, cfg.Callers*processes)
	if err != nil {
		return got, fmt.Errorf("bare SQL: %w", err)
	}
	return got, nil
}

// sweep deletes the keys of a box office: the prefix is before the name, or within the
// hash tag that the name begins with.
func sweep(ctx context.Context, cfg Config, keys string) error {
	return errors.Join(place.SweepRedis(ctx, redisURL(cfg.Cluster), keys), place.SweepRedis(ctx, redisURL(cfg.Cluster), "{"+keys))
}

func redisURL(nodes string) string {
	if strings.Contains(nodes, "://") {
		return nodes
	}
	return "redis://" + nodes + "/"
}

// record keeps the results.
func (c Config) record(all map[int][]result, out *report.Recorder) {
	out.Title("medians of %d rounds of %d bookings of a seat each; %d callers for each process; every process has all roles", c.Rounds, c.Bookings, c.Callers)
	out.Chart(report.Chart{Name: "bookings", Title: "Bookings, by processes of the box office", Unit: "bookings/s", X: "processes",
		Note: "Kafka, PostgreSQL and a Redis Cluster"})
	for _, n := range c.Processes {
		got := all[n]
		add := func(name string, role report.Role, colour int, of func(result) float64) {
			out.Figure(report.Figure{Chart: "bookings", Name: name, Role: role, Colour: colour, X: report.Number(n), Rounds: report.Rounds(got, of)})
		}
		add("until the last answer", report.Ours, 0, func(r result) float64 { return r.booked })
		add("until all events are published", report.Ours, 1, func(r result) float64 { return r.published })
		add("limit: the bare SQL, without events", report.Limit, -1, func(r result) float64 { return r.bare })
	}
	for _, n := range c.Processes {
		booked, bare := make([]float64, len(all[n])), make([]float64, len(all[n]))
		for i, r := range all[n] {
			booked[i], bare[i] = r.booked, r.bare
		}
		office := "one process"
		if n > 1 {
			office = fmt.Sprintf("%d processes", n)
		}
		out.Told(fmt.Sprintf("bookings/s of %s / bare SQL", office), report.Between(booked, bare, func(v float64) float64 { return v }, "bookings/s"))
		out.Told("p50 of a booking, "+office, report.Value(report.Median(all[n], func(r result) float64 { return float64(r.p50) / 1e6 }), "ms"))
		out.Told("p99 of a booking, "+office, report.Value(report.Median(all[n], func(r result) float64 { return float64(r.p99) / 1e6 }), "ms"))
	}
}
