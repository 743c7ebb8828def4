package migrate

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3/database"
)

// errApplied means that another process recorded the version first.
var errApplied = errors.New("another process applied it meanwhile")

// versions is goose's version table, made safe for several processes without
// a lock: goose lists the pending migrations outside the transaction that runs
// them, and its table would take a version twice.
type versions struct {
	database.Store
	dialect       string
	schema, table string // the name that the store has joined
}

// TableExists looks in the schema, or where unqualified names are looked up. On PostgreSQL it
// reads the catalog like any table: to_regclass would answer from a cache that
// does not know yet what another session has just committed. On MySQL, where
// making the table commits, one without its first row is not there yet.
func (v *versions) TableExists(ctx context.Context, db database.DBTxConn) (bool, error) {
	exists, err := v.named(ctx, db)
	if err != nil || !exists || v.dialect != MySQL {
		return exists, err
	}
	err = db.QueryRowContext(ctx, `SELECT count(*) > 0 FROM `+v.Tablename()+` WHERE version_id = 0`).Scan(&exists)
	return exists, err
}

// named is whether there is a table of that name.
func (v *versions) named(ctx context.Context, db database.DBTxConn) (bool, error) {
	return Exists(ctx, db, v.dialect, v.schema, v.table)
}

// Exists is whether a schema has a table; "" is where unqualified names are looked up.
func Exists(ctx context.Context, db queryer, dialect, schema, table string) (exists bool, err error) {
	switch dialect {
	case SQLite:
		err = db.QueryRowContext(ctx, `SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = ?`, table).Scan(&exists)
	case MySQL:
		err = db.QueryRowContext(ctx, `SELECT count(*) > 0 FROM information_schema.tables
			WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ?`, schema, table).Scan(&exists)
	default:
		err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relname = $2::text AND c.relkind IN ('r', 'p')
				AND n.nspname = ANY (CASE WHEN $1::text = '' THEN current_schemas(false) ELSE ARRAY[$1::text::name] END))`,
			schema, table).Scan(&exists)
	}
	return exists, err
}

// schemaIsThere fails when the schema has to be made first.
func (s Set) schemaIsThere(ctx context.Context, db *sql.DB) error {
	if s.Schema == "" {
		return nil
	}
	make, query := "CREATE SCHEMA", `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1::text)`
	if s.Dialect == MySQL {
		make, query = "CREATE DATABASE", `SELECT COUNT(*) > 0 FROM information_schema.schemata WHERE schema_name = ?`
	}
	var there bool
	if err := db.QueryRowContext(ctx, query, s.Schema).Scan(&there); err != nil {
		return fmt.Errorf("migrate: look for the schema %s: %w", s.Schema, err)
	}
	if !there {
		return fmt.Errorf("migrate: Schema %q is not there, or hidden from this user; %s %s, and grant this user what it needs to make tables there",
			s.Schema, make, s.Schema)
	}
	return nil
}

// CreateVersionTable runs in a transaction, and goose looks for pending
// migrations, which creates the table, before it takes the session lock. Under
// this lock, and in SQLite's IMMEDIATE transaction, the second look is exact;
// without it the loser would fail and sleep for a second.
func (v *versions) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	if v.dialect == MySQL {
		return v.createOnMySQL(ctx, db)
	}
	if v.dialect == Postgres {
		if _, err := db.ExecContext(ctx, `SELECT pg_advisory_xact_lock(`+advisoryKey+`)`, v.Tablename()); err != nil {
			return fmt.Errorf("wait for the migration lock: %w", err)
		}
	}
	exists, err := v.TableExists(ctx, db)
	if err != nil || exists {
		return err
	}
	return v.Store.CreateVersionTable(ctx, db)
}

// Insert refuses a version that is there already, which rolls the migration
// back. Version 0 marks a new table and is no migration.
func (v *versions) Insert(ctx context.Context, db database.DBTxConn, req database.InsertRequest) error {
	_, err := v.GetMigration(ctx, db, req.Version)
	switch {
	case errors.Is(err, database.ErrVersionNotFound):
		return v.Store.Insert(ctx, db, req)
	case err != nil:
		return err
	case req.Version == 0:
		return nil
	}
	return fmt.Errorf("version %d: %w", req.Version, errApplied)
}

// advisoryLock makes the processes that migrate one version table take turns.
// goose's own locker polls once a second at best; this one waits in the server.
type advisoryLock struct{ table string }

const advisoryKey = `hashtextextended(coalesce(current_schema(), '') || '.' || $1, 0)`

func (l advisoryLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock(`+advisoryKey+`)`, l.table); err != nil {
		return fmt.Errorf("wait for the migration lock: %w", err)
	}
	return nil
}

func (l advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_unlock(`+advisoryKey+`)`, l.table); err != nil {
		// The lock lives as long as its session: drop that instead of handing
		// it back to the pool.
		return errors.Join(fmt.Errorf("release the migration lock: %w", err),
			conn.Raw(func(any) error { return driver.ErrBadConn }))
	}
	return nil
}

// recorder takes the statement that goose would run.
type recorder struct {
	database.DBTxConn
	query string
}

func (r *recorder) ExecContext(_ context.Context, query string, _ ...any) (sql.Result, error) {
	r.query = query
	return driver.RowsAffected(0), nil
}
