// Command stress runs the out-of-order stress on PostgreSQL, MariaDB, MySQL and
// SQLite, with a naive reader beside the relay as a control, and prints the lost,
// duplicated and inverted events, and the latency from commit to publish. Then it
// runs it again on a primary with an asynchronous replica and relays in processes
// of their own, of which one is stopped for longer than its lease and one is
// killed, and fails over to the replica in the middle. It exits with 1 when a
// promise is broken or the control proves nothing.
//
//	go run ./proof/cmd/stress [-duration 20s] [-writers 16]
//
// It needs servers at MILLRACE_POSTGRES_URL, MILLRACE_MARIADB_URL and
// MILLRACE_MYSQL_URL, whose user may make databases, and the command of package
// pair in MILLRACE_PAIR; `make stress` sets them.
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

	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var cfg outboxtest.StressConfig
	flag.DurationVar(&cfg.Duration, "duration", 20*time.Second, "how long the writers write, on each database")
	flag.IntVar(&cfg.Writers, "writers", 16, "concurrent writers")
	flag.Parse()
	if name := os.Getenv(relayEnv); name != "" {
		if err := relayProcess(ctx, name); err != nil {
			fmt.Fprintln(os.Stderr, "stress: relay:", err)
			os.Exit(1)
		}
		return
	}
	if err := errors.Join(run(ctx, cfg), runFaults(ctx, cfg)); err != nil {
		fmt.Fprintln(os.Stderr, "stress:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, cfg outboxtest.StressConfig) error {
	urls := map[string]string{}
	for _, name := range []string{"MILLRACE_POSTGRES_URL", "MILLRACE_MARIADB_URL", "MILLRACE_MYSQL_URL"} {
		if urls[name] = os.Getenv(name); urls[name] == "" {
			return errors.New(name + " is not set; `make stress` starts the server and sets it")
		}
	}
	cfg.Naive = true
	fmt.Printf("%d writers for %s on each database, a tenth rolled back, beside an unrelated 5 s transaction\n\n", cfg.Writers, cfg.Duration)
	fmt.Printf("%-12s %9s %6s %11s %9s %9s %10s\n", "database", "committed", "lost", "duplicated", "inverted", "p50/p99", "naive lost")
	return errors.Join(postgres(ctx, urls["MILLRACE_POSTGRES_URL"], cfg), mysql(ctx, "MariaDB", urls["MILLRACE_MARIADB_URL"], cfg),
		mysql(ctx, "MySQL", urls["MILLRACE_MYSQL_URL"], cfg), sqlite(ctx, cfg))
}

const schema = "millrace_stress"

func postgres(ctx context.Context, base string, cfg outboxtest.StressConfig) error {
	u, err := url.Parse(base)
	if err != nil {
		return errors.New("MILLRACE_POSTGRES_URL does not parse")
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	db, err := pgdb.Open(u.String())
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the run is over
	db.SetMaxOpenConns(cfg.Writers + 8)
	const drop = "DROP SCHEMA IF EXISTS " + schema + " CASCADE"
	for _, s := range []string{drop, "CREATE SCHEMA " + schema} {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	defer db.ExecContext(context.WithoutCancel(ctx), drop) //nolint:errcheck // best effort after the run
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	if err != nil {
		return err
	}
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	cfg.Store, cfg.DB, cfg.Unrelated = store, db, db
	return stress(ctx, "PostgreSQL", cfg, limits{p99: time.Second, naiveLoses: true})
}

func mysql(ctx context.Context, name, base string, cfg outboxtest.StressConfig) error {
	u, err := url.Parse(base)
	if err != nil {
		return errors.New("the URL of " + name + " does not parse")
	}
	admin, err := mysqldb.Open(base)
	if err != nil {
		return err
	}
	defer admin.Close() //nolint:errcheck // the run is over
	const drop = "DROP DATABASE IF EXISTS " + schema
	for _, s := range []string{drop, "CREATE DATABASE " + schema} {
		if _, err := admin.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	defer admin.ExecContext(context.WithoutCancel(ctx), drop) //nolint:errcheck // best effort after the run
	u.Path = "/" + schema
	db, err := mysqldb.Open(u.String())
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the run is over
	db.SetMaxOpenConns(cfg.Writers + 8)
	store, err := mysqloutbox.New(db, mysqloutbox.Config{})
	if err != nil {
		return err
	}
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	cfg.Store, cfg.DB, cfg.Unrelated = store, db, db
	return stress(ctx, name, cfg, limits{p99: time.Second, naiveLoses: true})
}

func sqlite(ctx context.Context, cfg outboxtest.StressConfig) error {
	dir, err := os.MkdirTemp("", "millrace-stress-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	path := filepath.Join(dir, "stress.db")
	db, err := sqlitedb.Open(path, sqlitedb.Config{})
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the run is over
	reader, err := sqlitedb.OpenReader(path, sqlitedb.Config{})
	if err != nil {
		return err
	}
	defer reader.Close() //nolint:errcheck // the run is over
	store, err := sqliteoutbox.New(db, sqliteoutbox.Config{Reader: reader})
	if err != nil {
		return err
	}
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	cfg.Store, cfg.DB, cfg.Unrelated, cfg.UnrelatedReads = store, db, reader, true
	cfg.MaxDelay = time.Millisecond
	// Writers queue for SQLite's only write lock, the relay's cursor included.
	return stress(ctx, "SQLite", cfg, limits{p99: 3 * time.Second})
}

// limits are the limits of a run.
type limits struct {
	p99        time.Duration
	naiveLoses bool // ids are not in commit order, so the control must lose events
}

func stress(ctx context.Context, name string, cfg outboxtest.StressConfig, l limits) error {
	r, err := outboxtest.Stress(ctx, cfg)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Printf("%-12s %9d %6d %11d %9d %4.1f/%-4.1f %10d\n", name, r.Appended, r.Lost, r.Duplicated, r.Inverted,
		float64(r.P50)/1e6, float64(r.P99)/1e6, r.NaiveLost)
	if err := l.judge(r); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (l limits) judge(r outboxtest.StressResult) error {
	switch {
	case r.Appended == 0:
		return errors.New("nothing was committed")
	case r.Lost+r.Uncommitted+r.Duplicated+r.Inverted > 0:
		return fmt.Errorf("a promise is broken: %v", r)
	case r.P99 > l.p99:
		return fmt.Errorf("p99 latency is %v, over %v", r.P99, l.p99)
	case l.naiveLoses && r.NaiveLost == 0:
		return errors.New("the naive reader lost nothing, so the run proves nothing")
	}
	return nil
}
