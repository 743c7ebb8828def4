package outboxbench

import (
	"context"
	"fmt"
	"io"

	"github.com/millrace-go/millrace/bench/report"
)

// RunMariaDB measures the cursor outbox on MariaDB beside watermill-sql and
// writes the report. It leaves no database behind. The backlog is smaller than
// on PostgreSQL, because the peer takes seconds for it.
func RunMariaDB(ctx context.Context, cfg Config, out io.Writer) error {
	cfg = cfg.withDefaults()
	rows := min(cfg.Rows, 50_000)
	m, err := measure(ctx, cfg, rows, out, nil, oursOnMariaDB, peerOnMariaDB)
	if err != nil {
		return err
	}
	f := m.report(cfg, rows, out)
	fmt.Fprintln(out)
	// The first batch is not free here: it waits for the pass that gives the
	// first 4096 rows their places. So the whole time counts.
	report.AtLeast(out, "drain / tuned watermill-sql, MariaDB, from the start", f[oursOnMariaDB].whole/f[peerOnMariaDB].whole, 10)
	report.Figure(out, "  from the first event", f[oursOnMariaDB].rate/f[peerOnMariaDB].rate)
	report.Figure(out, "p50 latency / tuned watermill-sql, MariaDB", float64(f[oursOnMariaDB].p50)/float64(f[peerOnMariaDB].p50))
	report.Figure(out, "p99 latency / tuned watermill-sql, MariaDB", float64(f[oursOnMariaDB].p99)/float64(f[peerOnMariaDB].p99))
	return nil
}
