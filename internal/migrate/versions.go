package migrate

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/internal/sqlrows"
)

//go:embed sql/versions_*.sql
var versionTables embed.FS

// createTable is the statement that makes the version table.
func (s Set) createTable(table string) (string, error) {
	text, err := versionTables.ReadFile("sql/versions_" + s.Dialect + ".sql")
	return strings.Replace(strings.TrimSpace(string(text)), "millrace_version", table, 1), err
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Exists reports whether a schema has a table; "" is the schema of unqualified names. On
// PostgreSQL it reads the catalog like any table: to_regclass would answer from a cache that may
// not contain the latest commit of another session.
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

// schemaIsThere fails when the schema has to be created first.
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

// makeTable creates the version table if it does not exist. Version 0 is goose's mark of a
// complete table; older releases look for it.
func (r runner) makeTable(ctx context.Context) error {
	there, err := Exists(ctx, r.conn, r.Dialect, r.Schema, r.Table())
	if err != nil {
		return err
	}
	if !there {
		text, err := r.createTable(r.table())
		if err != nil {
			return err
		}
		if _, err := r.conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	if is, err := r.recorded(ctx, 0); err != nil || is {
		return err
	}
	return r.record(ctx, 0)
}

// applied returns the recorded versions.
func (r runner) applied(ctx context.Context) (map[int64]bool, error) {
	there, err := Exists(ctx, r.conn, r.Dialect, r.Schema, r.Table())
	if err != nil || !there {
		return nil, err
	}
	recorded, err := sqlrows.Column[int64](ctx, r.conn, `SELECT version_id FROM `+r.table())
	versions := map[int64]bool{}
	for _, version := range recorded {
		versions[version] = true
	}
	return versions, err
}

func (r runner) recorded(ctx context.Context, version int64) (is bool, err error) {
	query := fmt.Sprintf(`SELECT count(*) > 0 FROM %s WHERE version_id = %d`, r.table(), version)
	err = r.conn.QueryRowContext(ctx, query).Scan(&is)
	return is, err
}

func (r runner) record(ctx context.Context, version int64) error {
	_, err := r.conn.ExecContext(ctx, r.recording(r.table(), version))
	return err
}

// recording returns the statement that records a version.
func (s Set) recording(table string, version int64) string {
	applied := "true"
	if s.Dialect == SQLite {
		applied = "1"
	}
	return fmt.Sprintf("INSERT INTO %s (version_id, is_applied) VALUES (%d, %s)", table, version, applied)
}
