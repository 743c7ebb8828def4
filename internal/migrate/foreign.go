package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// ErrForeignTable is returned by [Set.Up] on MySQL and MariaDB when a table is
// there that a pending migration would make, and which it did not make. CREATE
// TABLE IF NOT EXISTS, with which migrations are repeated there, would pass over it.
var ErrForeignTable = errors.New("another owner's table has this name")

// foreign looks for such tables. A table is the set's own if a migration that is
// recorded makes it, or if it has the columns with which a pending one makes it,
// give or take those that the set adds or drops: what a migration left that was
// cut half-way. It must run under the lock, since another process may be half-way.
func (s Set) foreign(ctx context.Context, db database.DBTxConn, v *versions) error {
	steps, err := s.steps()
	if err != nil {
		return err
	}
	recorded, err := v.TableExists(ctx, db)
	if err != nil {
		return err
	}
	var pending []step
	var own, added, gone []string
	for _, one := range steps {
		added, gone = append(added, one.added...), append(gone, one.gone...)
		err := database.ErrVersionNotFound
		if recorded {
			_, err = v.GetMigration(ctx, db, one.version)
		}
		switch {
		case errors.Is(err, database.ErrVersionNotFound):
			pending = append(pending, one)
		case err != nil:
			return err
		default:
			for _, t := range one.tables {
				own = append(own, t.name)
			}
		}
	}
	for _, one := range pending {
		for _, t := range one.tables {
			if slices.Contains(own, t.name) {
				continue
			}
			there, err := columns(ctx, db, s.Schema, t.name)
			if err != nil {
				return err
			}
			if wrong := t.differs(there, added, gone); len(there) > 0 && wrong != "" {
				return fmt.Errorf("%s: %w: %s %s, and %s has no row of a migration that made it. "+
					"Rename that table or use another database. If it is this package's own, bring the rows of %s back that belonged to it",
					one.name, ErrForeignTable, t.name, wrong, v.Tablename(), v.Tablename())
			}
		}
	}
	return nil
}

// step is one migration's file, as far as it makes and changes tables.
type step struct {
	version     int64
	name        string
	tables      []created
	added, gone []string
}

func (s Set) steps() ([]step, error) {
	names, err := fs.Glob(s.FS, "*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	all := make([]step, len(names))
	for i, name := range names {
		text, err := fs.ReadFile(s.FS, name)
		if err != nil {
			return nil, err
		}
		statements := up(string(text))
		all[i].name, all[i].tables = name, tables(statements)
		all[i].added, all[i].gone = moved(statements)
		if all[i].version, err = goose.NumericComponent(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, nil
}

// columns returns the columns of a table, none when it is not there.
func columns(ctx context.Context, db database.DBTxConn, schema, table string) (all []column, err error) {
	rows, err := db.QueryContext(ctx, `SELECT LOWER(column_name), LOWER(data_type) FROM information_schema.columns
		WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ? ORDER BY ordinal_position`, schema, table)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var c column
		if err := rows.Scan(&c.name, &c.base); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, rows.Err()
}

// differs says how a table that is there differs from t, "" when it does not.
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
