package outboxbench

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
)

// idle counts the statements that a relay with nothing to do sends per second,
// by the server's own count.
func idle(ctx context.Context, s system, length time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if err := s.fill(ctx, 1, payloadOf(10)); err != nil {
		return 0, err
	}
	db, err := s.at().Open()
	if err != nil {
		return 0, err
	}
	defer db.Close() //nolint:errcheck // a side connection
	if _, err := db.ExecContext(ctx, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public"); err != nil {
		return 0, err
	}
	first := make(chan struct{}, 1)
	stop := run(ctx, s, func(string) { first <- struct{}{} })
	defer stop() //nolint:errcheck // its error follows from ctx
	select {
	case <-first:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if err := backoff.Sleep(ctx, 2*time.Second); err != nil { // the round that published it is over
		return 0, err
	}
	calls := func() (n float64, err error) {
		err = db.QueryRowContext(ctx, `SELECT coalesce(sum(calls), 0) FROM public.pg_stat_statements
			WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
				AND query NOT LIKE '%pg_stat_statements%'`).Scan(&n)
		return n, err
	}
	before, err := calls()
	if err != nil {
		return 0, err
	}
	if err := backoff.Sleep(ctx, length); err != nil {
		return 0, err
	}
	after, err := calls()
	if err != nil {
		return 0, fmt.Errorf("count statements: %w", err)
	}
	return (after - before) / length.Seconds(), nil
}
