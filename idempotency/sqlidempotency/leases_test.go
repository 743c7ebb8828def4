package sqlidempotency_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/idempotencytest"
	"github.com/millrace-go/millrace/idempotency/internal/leasemodel"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

func newLeases(t testing.TB, db *sql.DB, dialect sqltx.Dialect) driver.SQLLeaseStore {
	t.Helper()
	s, err := sqlidempotency.NewLeases(db, sqlidempotency.Config{Dialect: dialect})
	require.NoError(t, err)
	require.NoError(t, s.Migrate(t.Context()))
	return s
}

func TestLeaseConformance(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on database) {
		idempotencytest.RunLeases(t, func(t *testing.T) idempotencytest.LeaseHarness {
			db, peer := pools(t, on)
			return idempotencytest.LeaseHarness{
				Store: newLeases(t, db, on.Dialect), Peer: newLeases(t, peer, on.Dialect), DB: db,
				Backdate: backdateLease(db, on.Dialect),
			}
		})
	})
}

func backdateLease(db *sql.DB, dialect sqltx.Dialect) func(context.Context, string, time.Duration) error {
	shifted := map[sqltx.Dialect]string{
		sqltx.Postgres: "leased_until - %d * interval '1 microsecond'",
		sqltx.MySQL:    "leased_until - INTERVAL %d MICROSECOND",
		sqltx.SQLite:   "leased_until - %d",
	}[dialect]
	where := "?"
	if dialect == sqltx.Postgres {
		where = "$1"
	}
	return func(ctx context.Context, key string, by time.Duration) error {
		res, err := db.ExecContext(ctx, fmt.Sprintf("UPDATE idempotency_leases SET leased_until = "+shifted+" WHERE idempotency_key = "+where, by.Microseconds()), key)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); n != 1 || err != nil {
			return fmt.Errorf("%d rows changed, %w", n, err)
		}
		return nil
	}
}

func TestLeaseModel(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on database) {
		leasemodel.Check(t, func(t testing.TB) (driver.LeaseStore, leasemodel.Backdate) {
			db, _ := pools(t, on)
			return newLeases(t, db, on.Dialect), backdateLease(db, on.Dialect)
		})
	})
}

func TestNewLeasesChecks(t *testing.T) {
	_, db := servicetest.SQLite(t)
	for _, tc := range []struct {
		db   *sql.DB
		cfg  sqlidempotency.Config
		want string
	}{
		{nil, sqlidempotency.Config{Dialect: sqltx.SQLite}, "db is nil"},
		{db, sqlidempotency.Config{}, "Config.Dialect"},
		{db, sqlidempotency.Config{Dialect: sqltx.SQLite, Table: "a b"}, "Config.Table"},
		{db, sqlidempotency.Config{Dialect: sqltx.SQLite, ProcessedEvents: true}, "Config.ProcessedEvents"},
	} {
		if _, err := sqlidempotency.NewLeases(tc.db, tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("NewLeases(%+v) = %v, want an error about %s", tc.cfg, err, tc.want)
		}
	}
}

// TestLeaseMigrations: keys and leases are in one database, each table with its own version.
func TestLeaseMigrations(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on database) {
		db, _ := pools(t, on)
		migrated(t, db, sqlidempotency.Config{Dialect: on.Dialect})
		s, err := sqlidempotency.NewLeases(db, sqlidempotency.Config{Dialect: on.Dialect})
		require.NoError(t, err)
		var script bytes.Buffer
		require.NoError(t, s.PrintMigrations(&script))
		for statement := range strings.SplitAfterSeq(strings.TrimSpace(script.String()), ";\n") {
			if _, err := db.Exec(statement); err != nil {
				t.Fatalf("%v in\n%s", err, statement)
			}
		}
		require.NoError(t, s.Migrate(t.Context()), "Migrate after the printed script")
		other, err := sqlidempotency.NewLeases(db, sqlidempotency.Config{Dialect: on.Dialect, Table: "other_leases"})
		require.NoError(t, err)
		require.NoError(t, other.Migrate(t.Context()))
		for _, s := range []driver.SQLLeaseStore{s, other} {
			if c, err := s.Claim(t.Context(), record("stats:e-1"), time.Minute); err != nil || c.State != driver.Claimed {
				t.Errorf("%v, %v; want a free key in each table", c.State, err)
			}
		}
		var state, group, aggregate string
		err = db.QueryRow(`SELECT state, consumer_group, aggregate_id FROM idempotency_leases WHERE idempotency_key = 'stats:e-1'`).
			Scan(&state, &group, &aggregate)
		if err != nil || state != "CLAIMED" || group != "stats" || aggregate != "a-1" {
			t.Errorf("the row is %q %q %q, %v", state, group, aggregate, err)
		}
	})
}

func TestLeaseErrorsKeepTheirClass(t *testing.T) {
	db, err := pgdb.Open("postgres://u@127.0.0.1:1/nowhere?sslmode=disable")
	require.NoError(t, err)
	defer db.Close()
	s, err := sqlidempotency.NewLeases(db, sqlidempotency.Config{Dialect: sqltx.Postgres})
	require.NoError(t, err)
	c := driver.Claim{Key: "k", Token: 1}
	_, claim := s.Claim(t.Context(), record("k"), time.Minute)
	_, prune := s.Prune(t.Context(), 0, 1)
	for name, err := range map[string]error{
		"Claim": claim, "Prune": prune, "Extend": s.Extend(t.Context(), c, time.Minute),
		"Complete": s.Complete(t.Context(), c, nil), "Release": s.Release(t.Context(), c), "Migrate": s.Migrate(t.Context()),
	} {
		if got := fault.Of(err, pgdb.Classify); got != fault.Infrastructure || !strings.HasPrefix(err.Error(), "sqlidempotency: ") {
			t.Errorf("%s on an unreachable server: %v (%v), want infrastructure", name, err, got)
		}
	}
}
