package outboxbench

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/proof/report"
)

// RunMariaDB measures the cursor outbox on MariaDB beside watermill-sql and
// writes the report. It leaves no database behind. The backlog is smaller than
// on PostgreSQL, because the peer takes seconds for it.
func RunMariaDB(ctx context.Context, cfg Config, out *report.Recorder) error {
	return besideWatermill(ctx, cfg, out, "MariaDB", oursOnMariaDB, peerOnMariaDB)
}

// RunMySQL is RunMariaDB on MySQL.
func RunMySQL(ctx context.Context, cfg Config, out *report.Recorder) error {
	return besideWatermill(ctx, cfg, out, "MySQL", oursOnMySQL, peerOnMySQL)
}

func besideWatermill(ctx context.Context, cfg Config, out *report.Recorder, server, ours, peer string) error {
	cfg = cfg.withDefaults()
	rows := min(cfg.Rows, 50_000)
	var limits []float64
	m, err := measure(ctx, cfg, rows, out, func(key string, s system, round int) error {
		if key != ours {
			return nil
		}
		rate, err := barePlaces(ctx, s.at(), rows)
		if err != nil {
			return fmt.Errorf("bare places: %w", err)
		}
		limits = append(limits, rate)
		fmt.Fprintf(out, "round %d  places   %-17s %9.0f rows/s\n", round, "bare", rate)
		return nil
	}, ours, peer)
	if err != nil {
		return err
	}
	f := m.report(cfg, rows, out)
	limit := report.Median(limits, func(r float64) float64 { return r })
	out.Figure(report.Figure{Chart: "drain", Name: "limit: the same rows read and given places, nothing else", Role: report.Limit,
		Rounds: report.Rounds(limits, func(r float64) float64 { return r })})
	fmt.Fprintf(out, "%-58s %10.0f\n\n", "the same rows read and given places, nothing else", limit)
	// The first batch is not free here: it waits for the pass that gives its rows
	// their places. So the whole time counts.
	a, b := f[ours], f[peer]
	out.AtLeast("drain / tuned watermill-sql, "+server+", from the start", report.Ratio(a.whole, b.whole, "events/s"), 10)
	out.Told("drain / the same rows read and given places, nothing else", report.Ratio(a.whole, limit, "events/s"))
	out.Told("that limit / tuned watermill-sql", report.Ratio(limit, b.whole, "events/s"))
	out.Told("  from the first event", report.Ratio(a.rate, b.rate, "events/s"))
	out.Told("p50 latency / tuned watermill-sql, "+server, report.Ratio(ms(a.p50), ms(b.p50), "ms"))
	out.Told("p99 latency / tuned watermill-sql, "+server, report.Ratio(ms(a.p99), ms(b.p99), "ms"))
	return nil
}
