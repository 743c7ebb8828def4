package outboxbench

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/proof/backlog"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/report"
)

// RunStatus measures the status kind on PostgreSQL beside the queue that a textbook
// makes of a table, and on few keys beside many. It leaves no schema behind.
func RunStatus(ctx context.Context, cfg Config, out *report.Recorder) error {
	cfg = cfg.withDefaults()
	const cold, hot, textbook = "status kind, 10,000 keys", "status kind, 20 hot keys", "SKIP LOCKED 1000, publish, DELETE, commit (no keys, no retries)"
	names := []string{cold, textbook, hot}
	runs := map[string]func(context.Context, place.Place, Config) (report.Pace, error){
		cold: func(ctx context.Context, p place.Place, cfg Config) (report.Pace, error) {
			return drainStatus(ctx, p, cfg, 10_000)
		},
		hot: func(ctx context.Context, p place.Place, cfg Config) (report.Pace, error) {
			return drainStatus(ctx, p, cfg, 20)
		},
		textbook: drainPlain,
	}
	p, err := place.Postgres(cfg.URL, cfg.Prefix+"_status")
	if err != nil {
		return err
	}
	defer p.Drop(context.WithoutCancel(ctx)) //nolint:errcheck // best effort after the measurements
	all, err := report.Interleave(out, cfg.Rounds, names, func(_ int, name string) (report.Pace, string, error) {
		w, err := runs[name](ctx, p, cfg)
		return w, fmt.Sprintf("%-64s %9.0f events/s", name, w.Rate), err
	})
	if err != nil {
		return err
	}
	out.Title("medians of %d rounds; %d rows of %d B into a publisher that counts, until every row is marked or gone", cfg.Rounds, cfg.Rows, cfg.Size)
	fmt.Fprintf(out, "%-66s %10s %12s\n", "relay", "drain /s", "CPU µs/event")
	rate := map[string]float64{}
	out.Chart(report.Chart{Name: "drain", Title: "Draining a backlog until every row is marked or gone", Unit: "events/s", Note: fmt.Sprintf("%d rows of %d B", cfg.Rows, cfg.Size)})
	for _, name := range names {
		role := report.Ours
		if name == textbook {
			role = report.Peer
		}
		median := report.Paced(out, report.Figure{Chart: "drain", Name: name, Role: role}, all[name], report.Pace.Itself)
		rate[name] = median.Rate
		fmt.Fprintf(out, "%-66s %10.0f %12.1f\n", name, median.Rate, report.Micros(median.CPU))
	}
	fmt.Fprintln(out)
	out.Mark("drain", "half of the textbook's", rate[textbook]/2)
	out.AtLeast("status kind / plain SKIP LOCKED + DELETE", report.Ratio(rate[cold], rate[textbook], "events/s"), 0.5)
	out.AtLeast("20 hot keys / 10,000 keys", report.Ratio(rate[hot], rate[cold], "events/s"), 0.8)
	return nil
}

// filled makes the schema with a status outbox full of events.
func filled(ctx context.Context, p place.Place, cfg Config, keys int) (*sql.DB, driver.SQLStore, error) {
	db, err := p.Fresh(ctx)
	if err != nil {
		return nil, nil, err
	}
	store, err := pgoutbox.New(db, pgoutbox.Config{Status: true})
	if err == nil {
		err = backlog.Fill(ctx, db, store, cfg.Rows, keys, backlog.Text(cfg.Size))
	}
	if err != nil {
		db.Close() //nolint:errcheck // the error that matters is returned
		return nil, nil, fmt.Errorf("fill: %w", err)
	}
	return db, store, nil
}

// vacuumed brings a table into the same state before each measurement.
func vacuumed(ctx context.Context, p place.Place, db *sql.DB, table string) error {
	if _, err := db.ExecContext(ctx, "VACUUM ANALYZE "+table); err != nil {
		return err
	}
	return p.Settle(ctx)
}

func drainStatus(ctx context.Context, p place.Place, cfg Config, keys int) (report.Pace, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	db, store, err := filled(ctx, p, cfg, keys)
	if err != nil {
		return report.Pace{}, err
	}
	defer db.Close() //nolint:errcheck // measured work is done
	if err := vacuumed(ctx, p, db, "outbox_events"); err != nil {
		return report.Pace{}, err
	}
	var published atomic.Int64
	relay, err := outbox.NewRelay(store, counter{func(string) { published.Add(1) }}, outbox.RelayConfig{})
	if err != nil {
		return report.Pace{}, err
	}
	w, err := report.Timed(cfg.Rows, func() error { return relay.Drain(ctx) })
	if err != nil {
		return report.Pace{}, err
	}
	var marked int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM outbox_events WHERE state = 'PUBLISHED'`).Scan(&marked); err != nil {
		return report.Pace{}, err
	}
	if n := int(published.Load()); n != cfg.Rows || marked != cfg.Rows {
		return report.Pace{}, fmt.Errorf("of %d events %d were published and %d marked", cfg.Rows, n, marked)
	}
	return w, nil
}
