package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/internal/sqlrows"
)

// ErrForeignTable is returned by [Set.Up] on MySQL and MariaDB when a table exists that a
// pending migration would create, and which it did not create. CREATE TABLE IF NOT EXISTS, which
// makes migrations repeatable there, would accept it.
var ErrForeignTable = errors.New("another owner's table has this name")

// foreign looks for such tables. A table is the set's own if an applied migration creates it, or
// if it has the columns with which a pending one creates it, apart from those that the set adds
// or drops: then a migration was interrupted. It must run under the lock, since another process
// may be half-way.
func (r runner) foreign(ctx context.Context, all []migration, applied map[int64]bool) error {
	var own, added, gone []string
	for _, m := range all {
		a, g := moved(m.text)
		added, gone = append(added, a...), append(gone, g...)
		if applied[m.version] {
			for _, t := range tables(m.text) {
				own = append(own, t.name)
			}
		}
	}
	for _, m := range pending(all, applied) {
		for _, t := range tables(m.text) {
			if slices.Contains(own, t.name) {
				continue
			}
			there, err := r.columns(ctx, t.name)
			if err != nil {
				return err
			}
			if wrong := t.differs(there, added, gone); len(there) > 0 && wrong != "" {
				return fmt.Errorf("%s: %w: %s %s, and %s has no row of a migration that made it. "+
					"Rename that table or use another database. If it is this package's own, bring the rows of %s back that belonged to it",
					m.name, ErrForeignTable, t.name, wrong, r.table(), r.table())
			}
		}
	}
	return nil
}

// columns returns a table's columns, none when it is not there.
func (r runner) columns(ctx context.Context, table string) ([]column, error) {
	return sqlrows.All(ctx, r.conn, func(rows *sql.Rows) (c column, err error) {
		err = rows.Scan(&c.name, &c.base)
		return c, err
	}, `SELECT LOWER(column_name), LOWER(data_type) FROM information_schema.columns
		WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ? ORDER BY ordinal_position`, r.Schema, table)
}

// differs describes how an existing table differs from t, "" when it does not.
func (t created) differs(there []column, added, gone []string) string {
	named := func(name string) func(column) bool { return func(c column) bool { return c.name == name } }
	var lacks, has, types []string
	for _, want := range t.columns {
		i := slices.IndexFunc(there, named(want.name))
		switch {
		case i < 0 && !slices.Contains(gone, want.name):
			lacks = append(lacks, want.name)
		case i >= 0 && want.base != "" && there[i].base != want.base:
			types = append(types, fmt.Sprintf("%s %s instead of %s", want.name, there[i].base, want.base))
		}
	}
	for _, c := range there {
		if !slices.ContainsFunc(t.columns, named(c.name)) && !slices.Contains(added, c.name) {
			has = append(has, c.name)
		}
	}
	var all []string
	for _, part := range []struct {
		says  string
		names []string
	}{{"lacks the columns", lacks}, {"has the foreign columns", has}, {"has the columns", types}} {
		if len(part.names) > 0 {
			all = append(all, part.says+" "+strings.Join(part.names, ", "))
		}
	}
	return strings.Join(all, " and ")
}
