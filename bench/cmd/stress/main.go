// Command stress runs the out-of-order stress on PostgreSQL and SQLite, with a
// naive reader beside the relay as a control, and prints what was lost,
// duplicated and inverted, and the latency from commit to publish. It exits
// with 1 when a promise is broken or the control proves nothing.
//
//	go run ./bench/cmd/stress [-duration 20s] [-writers 16]
//
// It needs PostgreSQL at MILLRACE_POSTGRES_URL; `make stress` starts one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/millrace-go/millrace/bench/outboxstress"
	"github.com/millrace-go/millrace/internal/pgdb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var cfg outboxstress.Config
	flag.DurationVar(&cfg.Duration, "duration", 20*time.Second, "how long the writers write, on each database")
	flag.IntVar(&cfg.Writers, "writers", 16, "concurrent writers")
	flag.Parse()
	if err := run(ctx, cfg); err != nil {
		fmt.Fprintln(os.Stderr, "stress:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, cfg outboxstress.Config) error {
	base := os.Getenv("MILLRACE_POSTGRES_URL")
	if base == "" {
		return errors.New("MILLRACE_POSTGRES_URL is not set; `make stress` starts a PostgreSQL and sets it")
	}
	fmt.Printf("%d writers for %s on each database, a tenth rolled back, beside an unrelated 5 s transaction\n\n", cfg.Writers, cfg.Duration)
	fmt.Printf("%-12s %10s %8s %10s %9s %9s %9s %9s %12s\n", "database", "committed", "lost", "duplicated", "inverted", "p50 ms", "p99 ms", "max ms", "naive lost")
	return errors.Join(postgres(ctx, base, cfg), sqlite(ctx, cfg))
}

const schema = "millrace_stress"

func postgres(ctx context.Context, base string, cfg outboxstress.Config) error {
	u, err := url.Parse(base)
	if err != nil {
		return errors.New("MILLRACE_POSTGRES_URL does not parse")
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	admin, err := pgdb.Open(base)
	if err != nil {
		return err
	}
	defer admin.Close() //nolint:errcheck // a side connection
	drop := func(ctx context.Context) error {
		_, err := admin.ExecContext(ctx, "DROP SCHEMA IF EXISTS "+schema+" CASCADE")
		return err
	}
	if err := drop(ctx); err != nil {
		return err
	}
	defer drop(context.WithoutCancel(ctx)) //nolint:errcheck // best effort after the run
	if _, err := admin.ExecContext(ctx, "CREATE SCHEMA "+schema); err != nil {
		return err
	}
	target, done, err := outboxstress.Postgres(ctx, u.String())
	if err != nil {
		return err
	}
	return errors.Join(stress(ctx, target, cfg), done())
}

func sqlite(ctx context.Context, cfg outboxstress.Config) error {
	dir, err := os.MkdirTemp("", "millrace-stress-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	target, done, err := outboxstress.SQLite(ctx, filepath.Join(dir, "stress.db"))
	if err != nil {
		return err
	}
	return errors.Join(stress(ctx, target, cfg), done())
}

func stress(ctx context.Context, t outboxstress.Target, cfg outboxstress.Config) error {
	r, err := outboxstress.Run(ctx, t, cfg)
	if err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	fmt.Printf("%-12s %10d %8d %10d %9d %9.1f %9.1f %9.1f %12d\n", t.Name, r.Committed, r.Lost, r.Duplicated, r.Inverted,
		float64(r.P50)/1e6, float64(r.P99)/1e6, float64(r.Max)/1e6, r.NaiveLost)
	if err := r.Verdict(t); err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	return nil
}
