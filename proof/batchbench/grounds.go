package batchbench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/sqltx"
)

// ground is a transport with a database.
type ground struct {
	name    string
	dialect sqltx.Dialect
	one     string // counts a view of show $1
	many    string // counts the views of the JSON object $1
	open    func(ctx context.Context, cfg Config) (bs *bus.Bus, db *sql.DB, done func() error, err error)
}

var grounds = []ground{
	{
		"sqlite://, SQLite", sqltx.SQLite,
		`INSERT INTO views (show, n) VALUES ($1, 1) ON CONFLICT (show) DO UPDATE SET n = n + 1`,
		`INSERT INTO views (show, n) SELECT key, value FROM json_each($1) WHERE true
			ON CONFLICT (show) DO UPDATE SET n = n + excluded.n`,
		openSQLite,
	},
	{
		"kafka://, PostgreSQL", sqltx.Postgres,
		`INSERT INTO views (show, n) VALUES ($1, 1) ON CONFLICT (show) DO UPDATE SET n = views.n + 1`,
		`INSERT INTO views (show, n) SELECT key, value::integer FROM jsonb_each_text($1::jsonb) ORDER BY key
			ON CONFLICT (show) DO UPDATE SET n = views.n + excluded.n`,
		openKafka,
	},
}

// openSQLite makes one file for everything.
func openSQLite(ctx context.Context, _ Config) (*bus.Bus, *sql.DB, func() error, error) {
	dir, err := os.MkdirTemp("", "millrace-bench-")
	if err != nil {
		return nil, nil, nil, err
	}
	path := filepath.Join(dir, "app.db")
	db, err := sqlitedb.Open(path, sqlitedb.Config{})
	if err != nil {
		return nil, nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	done := func() error { return errors.Join(db.Close(), os.RemoveAll(dir)) }
	bs, err := bus.Open(ctx, "sqlite://"+path, sqlitebus.Scheme(sqlitebus.Config{DB: db, Logger: slog.New(slog.DiscardHandler)}))
	if err != nil {
		return nil, nil, nil, errors.Join(err, done())
	}
	return bs, db, done, nil
}

func openKafka(ctx context.Context, cfg Config) (*bus.Bus, *sql.DB, func() error, error) {
	p, err := place.Postgres(cfg.URL, cfg.Prefix+"_views")
	if err != nil {
		return nil, nil, nil, err
	}
	db, err := p.Fresh(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	done := func() error {
		return errors.Join(db.Close(), p.Drop(context.WithoutCancel(ctx)), place.SweepKafka(cfg.Brokers, cfg.Prefix+"-views-"))
	}
	bs, err := bus.Open(ctx, "kafka://"+cfg.Brokers+"/", kafkabus.Scheme(kafkabus.Config{Logger: slog.New(slog.DiscardHandler)}))
	if err != nil {
		return nil, nil, nil, errors.Join(err, done())
	}
	return bs, db, done, nil
}

// group is the consumer group, and the guard's.
const group = "views"

// prepared is a ground with its tables.
type prepared struct {
	ground
	bus   *bus.Bus
	db    *sql.DB
	guard *idempotency.Guard[*sql.Tx]
}

// inPlace makes a ground afresh, and removes it after fn.
func inPlace(ctx context.Context, cfg Config, g ground, fn func(prepared) error) (err error) {
	bs, db, done, err := g.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	defer func() { err = errors.Join(err, bs.Close()) }()
	if _, err := db.ExecContext(ctx, `CREATE TABLE views (show TEXT PRIMARY KEY, n INTEGER NOT NULL)`); err != nil {
		return err
	}
	keys, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: g.dialect})
	if err != nil {
		return err
	}
	if err := keys.Migrate(ctx); err != nil {
		return fmt.Errorf("make the keys' table: %w", err)
	}
	guard, err := idempotency.New[*sql.Tx](keys, idempotency.Config{Group: group})
	if err != nil {
		return err
	}
	return fn(prepared{g, bs, db, guard})
}
