package outboxbench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Config sizes a run. The zero value is the published one.
type Config struct {
	URL     string // PostgreSQL
	Rows    int    // backlog to drain; 50,000
	Size    int    // bytes of payload; 500
	Rounds  int    // interleaved rounds of everything; 5
	Rate    int    // events per second while latency is measured; 500
	Seconds int    // length of a latency measurement; 10
}

func (c Config) withDefaults() Config {
	for _, f := range []struct {
		field   *int
		initial int
	}{{&c.Rows, 50_000}, {&c.Size, 500}, {&c.Rounds, 5}, {&c.Rate, 500}, {&c.Seconds, 10}} {
		if *f.field == 0 {
			*f.field = f.initial
		}
	}
	return c
}

// The keys by which the appender process finds its system.
var systemKeys = []string{"millrace", "watermill", "river"}

func systemOf(base, key string) (system, error) {
	db, err := newDatabase(base, "bench_"+key)
	if err != nil {
		return nil, err
	}
	switch key {
	case "millrace":
		return millrace{db}, nil
	case "watermill":
		return watermillSQL{db}, nil
	case "river":
		return riverQueue{db}, nil
	}
	return nil, fmt.Errorf("unknown system %q; known: %s", key, strings.Join(systemKeys, ", "))
}

// Run measures everything and writes the report. It leaves no schema behind.
func Run(ctx context.Context, cfg Config, out io.Writer) error {
	cfg = cfg.withDefaults()
	drains := map[string][]Drain{}
	latencies := map[string][]Latency{}
	var reads []float64
	defer func() {
		for _, key := range systemKeys {
			if db, err := newDatabase(cfg.URL, "bench_"+key); err == nil {
				db.drop(context.WithoutCancel(ctx)) //nolint:errcheck // best effort after the report
			}
		}
	}()
	for round := range cfg.Rounds {
		for _, key := range systemKeys {
			s, err := systemOf(cfg.URL, key)
			if err != nil {
				return err
			}
			d, err := drain(ctx, s, cfg.URL, cfg.Rows, cfg.Size)
			if err != nil {
				return fmt.Errorf("%s: drain: %w", s.name(), err)
			}
			drains[key] = append(drains[key], d)
			fmt.Fprintf(out, "round %d  drain    %-10s %9.0f events/s\n", round+1, key, d.Rate)
			if m, ok := s.(millrace); ok {
				rate, err := rawRead(ctx, m.db, cfg.Rows)
				if err != nil {
					return fmt.Errorf("raw read: %w", err)
				}
				reads = append(reads, rate)
				fmt.Fprintf(out, "round %d  read     %-10s %9.0f rows/s\n", round+1, "raw", rate)
			}
			l, err := latency(ctx, s, key, cfg.Rate, cfg.Seconds, cfg.Size)
			if err != nil {
				return fmt.Errorf("%s: latency: %w", s.name(), err)
			}
			latencies[key] = append(latencies[key], l)
			fmt.Fprintf(out, "round %d  latency  %-10s p50 %s  p99 %s\n", round+1, key, ms(l.P50), ms(l.P99))
		}
	}
	s, err := systemOf(cfg.URL, "millrace")
	if err != nil {
		return err
	}
	statements, err := idle(ctx, s, cfg.URL, 10*time.Second)
	if err != nil {
		return fmt.Errorf("idle: %w", err)
	}
	share, err := bookingShare(ctx, cfg.URL, 2000)
	if err != nil {
		return fmt.Errorf("booking: %w", err)
	}
	report(cfg, out, drains, latencies, reads)
	goal(out, "statements per second of an idle relay", statements, "<= 2", statements <= 2)
	goal(out, "append's part of a booking transaction, PostgreSQL", share.append, "< 0.1", share.append < 0.1)
	goal(out, "  of that, an empty round trip (SELECT 1)", share.roundTrip, "none", true)
	lite, err := bookingShareSQLite(ctx, 500)
	if err != nil {
		return fmt.Errorf("booking on SQLite: %w", err)
	}
	goal(out, "append's part of a booking transaction, SQLite", lite.append, "< 0.1", lite.append < 0.1)
	return nil
}

// rawRead reads the same rows by primary key in batches of 1000: the ceiling.
func rawRead(ctx context.Context, db database, n int) (float64, error) {
	conn, err := pgx.Connect(ctx, db.url)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx) //nolint:errcheck // read only
	start := time.Now()
	read := 0
	for after := int64(0); read < n; {
		rows, err := conn.Query(ctx, `SELECT id, topic, message_id, message_key, headers, payload, created_at
			FROM outbox_messages WHERE lane = 0 AND id > $1 ORDER BY id LIMIT 1000`, after)
		if err != nil {
			return 0, err
		}
		batch := 0
		for rows.Next() {
			var topic, id, key, headers string
			var payload []byte
			var at time.Time
			if err := rows.Scan(&after, &topic, &id, &key, &headers, &payload, &at); err != nil {
				return 0, err
			}
			batch++
		}
		if err := rows.Err(); err != nil {
			return 0, err
		}
		if batch == 0 {
			return 0, fmt.Errorf("%d of %d rows", read, n)
		}
		read += batch
	}
	return float64(read) / time.Since(start).Seconds(), nil
}

func report(cfg Config, out io.Writer, drains map[string][]Drain, latencies map[string][]Latency, reads []float64) {
	fmt.Fprintf(out, "\nmedians of %d rounds; %d rows of %d B into a publisher that counts; latency at %d/s from another process\n\n",
		cfg.Rounds, cfg.Rows, cfg.Size, cfg.Rate)
	fmt.Fprintf(out, "%-58s %10s %9s %12s %9s %9s\n", "relay", "drain /s", "start ms", "CPU µs/event", "p50 ms", "p99 ms")
	rate := map[string]float64{}
	p50, p99 := map[string]time.Duration{}, map[string]time.Duration{}
	for _, key := range systemKeys {
		s, err := systemOf(cfg.URL, key)
		if err != nil {
			panic(err) // its measurements exist
		}
		rate[key] = median(drains[key], func(d Drain) float64 { return d.Rate })
		cpu := median(drains[key], func(d Drain) float64 { return float64(d.CPU.Nanoseconds()) / 1e3 })
		p50[key] = median(latencies[key], func(l Latency) time.Duration { return l.P50 })
		p99[key] = median(latencies[key], func(l Latency) time.Duration { return l.P99 })
		start := median(drains[key], func(d Drain) time.Duration { return d.Start })
		fmt.Fprintf(out, "%-58s %10.0f %9s %12.1f %9s %9s\n", s.name(), rate[key], ms(start), cpu, ms(p50[key]), ms(p99[key]))
	}
	read := median(reads, func(r float64) float64 { return r })
	fmt.Fprintf(out, "%-58s %10.0f\n\n", "reading the same rows by primary key, 1000 at a time", read)
	w := rate["millrace"] / rate["watermill"]
	goal(out, "drain / tuned watermill-sql", w, ">= 12", w >= 12)
	goal(out, "drain / River", rate["millrace"]/rate["river"], "none", true)
	r := rate["millrace"] / read
	goal(out, "drain / raw read by primary key", r, ">= 0.45", r >= 0.45)
	half := float64(p50["millrace"]) / float64(p50["watermill"])
	goal(out, "p50 latency / tuned watermill-sql", half, "<= 0.5", half <= 0.5)
	tail := float64(p99["millrace"]) / float64(p99["watermill"])
	goal(out, "p99 latency / tuned watermill-sql", tail, "<= 1", tail <= 1)
}

func goal(out io.Writer, what string, got float64, goal string, met bool) {
	mark := "met"
	if !met {
		mark = "MISSED"
	}
	fmt.Fprintf(out, "%-58s %8.2f   goal %-8s %s\n", what, got, goal, mark)
}

func median[T any, N int | float64 | time.Duration](all []T, of func(T) N) N {
	values := make([]N, len(all))
	for i, v := range all {
		values[i] = of(v)
	}
	slices.Sort(values)
	if len(values) == 0 {
		return 0
	}
	return values[len(values)/2]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }
