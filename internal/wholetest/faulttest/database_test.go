package faulttest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// database is where a flow commits and takes effect.
type database struct {
	name     string // as services.sh calls the server
	dialect  sqltx.Dialect
	pool     *sql.DB
	store    driver.Store
	classify fault.Classifier
	up       func(context.Context) error // the outbox's tables
	sql      statements
}

type statements struct{ tables, next, current, effect string }

func postgres(t *testing.T) database {
	t.Helper()
	db := servicetest.Postgres(t)
	store, err := pgoutbox.New(db, pgoutbox.Config{Shards: 2})
	require.NoError(t, err)
	return database{
		name: "postgres", dialect: sqltx.Postgres, pool: db, store: store, classify: pgdb.Classify, up: store.Migrate,
		sql: statements{
			tables:  `CREATE TABLE counters (k INT PRIMARY KEY, n BIGINT NOT NULL); CREATE TABLE effects (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, k INT NOT NULL, n BIGINT NOT NULL, event_id TEXT NOT NULL)`,
			next:    `UPDATE counters SET n = n + 1 WHERE k = $1`,
			current: `SELECT n FROM counters WHERE k = $1`,
			effect:  `INSERT INTO effects (k, n, event_id) VALUES ($1, $2, $3)`,
		},
	}
}

func mariadb(t *testing.T) database { return mysql(t, "mariadb", servicetest.MariaDB(t)) }
func mySQL(t *testing.T) database   { return mysql(t, "mysql", servicetest.MySQL(t)) }

func mysql(t *testing.T, name string, db *sql.DB) database {
	t.Helper()
	store, err := mysqloutbox.New(db, mysqloutbox.Config{Shards: 2})
	require.NoError(t, err)
	return database{
		name: name, dialect: sqltx.MySQL, pool: db, store: store, classify: mysqldb.Classify, up: store.Migrate,
		sql: statements{
			tables:  `CREATE TABLE counters (k INT PRIMARY KEY, n BIGINT NOT NULL); CREATE TABLE effects (id BIGINT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, n BIGINT NOT NULL, event_id VARCHAR(64) NOT NULL)`,
			next:    `UPDATE counters SET n = n + 1 WHERE k = ?`,
			current: `SELECT n FROM counters WHERE k = ?`,
			effect:  `INSERT INTO effects (k, n, event_id) VALUES (?, ?, ?)`,
		},
	}
}

func (d database) schema(ctx context.Context) error {
	if err := d.up(ctx); err != nil {
		return err
	}
	keep, err := sqlidempotency.New(d.pool, sqlidempotency.Config{Dialect: d.dialect})
	if err != nil {
		return err
	}
	if err := keep.Migrate(ctx); err != nil {
		return err
	}
	for _, statement := range strings.Split(d.sql.tables, ";") {
		if _, err := d.pool.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	for k := range keys {
		if _, err := d.pool.ExecContext(ctx, fmt.Sprintf("INSERT INTO counters (k, n) VALUES (%d, 0)", k)); err != nil {
			return err
		}
	}
	return nil
}

// next numbers an event of the key. The row stays locked until the commit.
func (d database) next(ctx context.Context, tx *sql.Tx, key int) (n int64, err error) {
	if _, err := tx.ExecContext(ctx, d.sql.next, key); err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, d.sql.current, key).Scan(&n)
	return n, err
}

// effect records that an event was handled, in the guard's transaction.
func (d database) effect(ctx context.Context, tx *sql.Tx, e event.Event) error {
	_, err := tx.ExecContext(ctx, d.sql.effect, e.AggregateID, e.Sequence, e.ID)
	return err
}

func (d database) count(ctx context.Context, query string) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err = d.pool.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}

func (d database) committed(ctx context.Context) (int, error) {
	return d.count(ctx, `SELECT SUM(n) FROM counters`)
}

func (d database) handled(ctx context.Context) (int, error) {
	return d.count(ctx, `SELECT COUNT(DISTINCT event_id) FROM effects`)
}

// audit returns the errors found: each key's effects must be 1, 2, 3, … up to its
// counter, in that order.
func (d database) audit(ctx context.Context) ([]string, error) {
	rows, err := d.pool.QueryContext(ctx, `SELECT k, n FROM effects ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	var problems []string
	last := map[int]int64{}
	for rows.Next() {
		var k int
		var n int64
		if err := rows.Scan(&k, &n); err != nil {
			return nil, err
		}
		if n != last[k]+1 {
			problems = append(problems, fmt.Sprintf("key %d: event %d took effect after event %d", k, n, last[k]))
		}
		last[k] = max(last[k], n)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	rows, err = d.pool.QueryContext(ctx, `SELECT k, n FROM counters`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		var k int
		var n int64
		if err := rows.Scan(&k, &n); err != nil {
			return nil, err
		}
		if last[k] != n {
			problems = append(problems, fmt.Sprintf("key %d: %d events were committed, %d took effect", k, n, last[k]))
		}
	}
	return problems, rows.Err()
}
