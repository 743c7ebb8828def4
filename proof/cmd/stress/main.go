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
	"os"
	"path/filepath"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/command"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/proof/place"
)

func main() {
	var cfg outboxtest.StressConfig
	flags := flag.NewFlagSet("stress", flag.ContinueOnError)
	flags.DurationVar(&cfg.Duration, "duration", 20*time.Second, "how long the writers write, on each database")
	flags.IntVar(&cfg.Writers, "writers", 16, "concurrent writers")
	os.Exit(command.Run(flags, os.Args[1:], func(ctx context.Context) error {
		if name := os.Getenv(relayEnv); name != "" {
			return relayProcess(ctx, name)
		}
		checks := append(run(ctx, cfg), runFaults(ctx, cfg)...)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return judge.Conclude(screen.New(os.Stdout, true), checks)
	}))
}

// run is the stress on each database, with the control beside it.
func run(ctx context.Context, cfg outboxtest.StressConfig) (checks []judge.Check) {
	cfg.Naive = true
	fmt.Printf("%d writers for %s on each database, a tenth rolled back, beside an unrelated 5 s transaction\n\n", cfg.Writers, cfg.Duration)
	fmt.Printf("%-12s %9s %6s %11s %9s %9s %10s\n", "database", "committed", "lost", "duplicated", "inverted", "p50/p99", "naive lost")
	// Ids of servers are not in the order of commits, so the control has to lose events.
	servers := limits{p99: time.Second, naiveLoses: true}
	for _, d := range []struct {
		title string
		limits
		stress func(ctx context.Context, cfg outboxtest.StressConfig) (outboxtest.StressResult, error)
	}{
		{"PostgreSQL", servers, onServer("postgres", "MILLRACE_POSTGRES_URL", place.Postgres)},
		{"MariaDB", servers, onServer("mariadb", "MILLRACE_MARIADB_URL", place.MariaDB)},
		{"MySQL", servers, onServer("mysql", "MILLRACE_MYSQL_URL", place.MariaDB)},
		// Writers queue for SQLite's only write lock, the relay's cursor included.
		{"SQLite", limits{p99: 3 * time.Second}, onSQLite},
	} {
		r, err := d.stress(ctx, cfg)
		if err != nil {
			checks = append(checks, unfinished(d.title, err))
			continue
		}
		fmt.Printf("%-12s %9d %6d %11d %9d %4.1f/%-4.1f %10d\n", d.title, r.Appended, r.Lost, r.Duplicated, r.Inverted,
			float64(r.P50)/1e6, float64(r.P99)/1e6, r.NaiveLost)
		checks = append(checks, d.judge(d.title, r)...)
	}
	return checks
}

// unfinished is a run that ended with an error.
func unfinished(title string, err error) judge.Check {
	return judge.Control(title+": the run came to its end", false, "%v", err)
}

// onServer is the stress in a schema or database of its own.
func onServer(kind, variable string, at func(server, name string) (place.Place, error)) func(context.Context, outboxtest.StressConfig) (outboxtest.StressResult, error) {
	return func(ctx context.Context, cfg outboxtest.StressConfig) (r outboxtest.StressResult, err error) {
		server := os.Getenv(variable)
		if server == "" {
			return r, errors.New(variable + " is not set; `make stress` starts the server and sets it")
		}
		p, err := at(server, "millrace_stress")
		if err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, p.Drop(context.WithoutCancel(ctx))) }()
		db, err := p.Fresh(ctx)
		if err != nil {
			return r, err
		}
		defer db.Close() //nolint:errcheck // the run is over
		db.SetMaxOpenConns(cfg.Writers + 8)
		store, err := open(kind, db)
		if err != nil {
			return r, err
		}
		if err := store.Migrate(ctx); err != nil {
			return r, err
		}
		cfg.Store, cfg.DB, cfg.Unrelated = store, db, db
		return outboxtest.Stress(ctx, cfg)
	}
}

func onSQLite(ctx context.Context, cfg outboxtest.StressConfig) (r outboxtest.StressResult, err error) {
	dir, err := os.MkdirTemp("", "millrace-stress-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	path := filepath.Join(dir, "stress.db")
	db, err := sqlitedb.Open(path, sqlitedb.Config{})
	if err != nil {
		return r, err
	}
	defer db.Close() //nolint:errcheck // the run is over
	reader, err := sqlitedb.OpenReader(path, sqlitedb.Config{})
	if err != nil {
		return r, err
	}
	defer reader.Close() //nolint:errcheck // the run is over
	store, err := sqliteoutbox.New(db, sqliteoutbox.Config{Reader: reader})
	if err != nil {
		return r, err
	}
	if err := store.Migrate(ctx); err != nil {
		return r, err
	}
	cfg.Store, cfg.DB, cfg.Unrelated, cfg.UnrelatedReads = store, db, reader, true
	cfg.MaxDelay = time.Millisecond
	return outboxtest.Stress(ctx, cfg)
}

// limits are the limits of a run.
type limits struct {
	p99        time.Duration
	naiveLoses bool
}

func (l limits) judge(title string, r outboxtest.StressResult) []judge.Check {
	checks := []judge.Check{
		judge.That(title+": each commit is published once and in order", r.Lost+r.Uncommitted+r.Duplicated+r.Inverted == 0,
			"lost %d, not committed %d, duplicated %d, inverted %d", r.Lost, r.Uncommitted, r.Duplicated, r.Inverted),
		judge.That(title+": p99 from commit to publish", r.P99 <= l.p99, "%v, at most %v", r.P99.Round(10*time.Microsecond), l.p99),
		committed(title, r),
	}
	if l.naiveLoses {
		checks = append(checks, judge.Control(title+": the naive reader loses events", r.NaiveLost > 0, "%d", r.NaiveLost))
	}
	return checks
}

func committed(title string, r outboxtest.StressResult) judge.Check {
	return judge.Control(title+": events were committed", r.Appended > 0, "%d", r.Appended)
}
