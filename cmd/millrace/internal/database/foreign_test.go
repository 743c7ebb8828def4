package database

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlname"
)

var (
	statementEnd = regexp.MustCompile(`;[ \t]*(--[^\n]*)?(\n|$)`)
	tableMade    = regexp.MustCompile(`CREATE TABLE IF NOT EXISTS (\w+)`)
)

// statements are the up statements of a file of migrations.
func statements(t *testing.T, set migrate.Set, name string) []string {
	t.Helper()
	text, err := fs.ReadFile(set.FS, name)
	require.NoError(t, err)
	_, body, _ := strings.Cut(string(text), "-- +goose Up")
	body, _, _ = strings.Cut(body, "-- +goose Down")
	var all []string
	for _, s := range statementEnd.Split(body, -1) {
		if s = strings.TrimSpace(s); s != "" && !strings.HasPrefix(s, "-- +goose") {
			all = append(all, s)
		}
	}
	return all
}

// eachFile runs a test for every file of migrations on MySQL, with the files before it:
// each part of the tool, and both layouts of the idempotency table.
func eachFile(t *testing.T, run func(t *testing.T, server servicetest.MySQLServer, before []migrate.Set, set migrate.Set, name string)) {
	servicetest.EachMySQL(t, func(t *testing.T, server servicetest.MySQLServer) {
		files(t, func(t *testing.T, before []migrate.Set, set migrate.Set, name string) {
			run(t, server, before, set, name)
		})
	})
}

func files(t *testing.T, run func(t *testing.T, before []migrate.Set, set migrate.Set, name string)) {
	for _, layout := range Layouts() {
		parts, err := Parts(MySQL, layout, sqlname.Names{}, PartNames()...)
		require.NoError(t, err)
		for _, p := range parts {
			if layout != Layouts()[0] && p.Name != PartIdempotency {
				continue
			}
			var before []migrate.Set
			for _, set := range p.Sets {
				names, err := fs.Glob(set.FS, "*.sql")
				if err != nil || len(names) == 0 {
					t.Fatalf("%s: files %v, %v", set.Package, names, err)
				}
				slices.Sort(names)
				for i, name := range names {
					t.Run(set.Package+"/"+name, func(t *testing.T) {
						run(t, append(slices.Clone(before), migrate.Set{Package: set.Package, Dialect: set.Dialect, FS: only{set.FS, names[:i]}}), set, name)
					})
				}
				before = append(before, set)
			}
		}
	}
}

// only is a file system with only the named files.
type only struct {
	fs.FS
	names []string
}

func (o only) Open(name string) (fs.File, error) {
	if name != "." && !slices.Contains(o.names, name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return o.FS.Open(name)
}

func (o only) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(o.FS, name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return !slices.Contains(o.names, e.Name()) }), err
}

func upAll(t *testing.T, db *sql.DB, sets []migrate.Set) {
	t.Helper()
	for _, set := range sets {
		if o, ok := set.FS.(only); ok && len(o.names) == 0 {
			continue
		}
		require.NoError(t, set.Up(t.Context(), db))
	}
}

// If a process is killed between any two statements of a migration, the next one completes
// its work.
func TestCutMigrationsGoOn(t *testing.T) {
	eachFile(t, func(t *testing.T, server servicetest.MySQLServer, before []migrate.Set, set migrate.Set, name string) {
		all := statements(t, set, name)
		for done := 1; done <= len(all); done++ {
			db := server.DB(t)
			upAll(t, db, before)
			killed, err := db.Conn(t.Context())
			require.NoError(t, err)
			for _, s := range all[:done] {
				if _, err := killed.ExecContext(t.Context(), s); err != nil {
					t.Fatalf("%v in\n%s", err, s)
				}
			}
			require.NoError(t, killed.Close())
			for range 2 {
				require.NoErrorf(t, set.Up(t.Context(), db), "Up behind %d of %d statements", done, len(all))
			}
		}
	})
}

// A table of another owner under one of our names is refused by name, and stays unchanged.
func TestForeignTablesAreRefused(t *testing.T) {
	eachFile(t, func(t *testing.T, server servicetest.MySQLServer, before []migrate.Set, set migrate.Set, name string) {
		text, err := fs.ReadFile(set.FS, name)
		require.NoError(t, err)
		for _, m := range tableMade.FindAllStringSubmatch(string(text), -1) {
			db := server.DB(t)
			upAll(t, db, before)
			_, err := db.Exec(`CREATE TABLE ` + m[1] + ` (theirs INT)`)
			require.NoError(t, err)
			err = set.Up(context.Background(), db)
			if !errors.Is(err, migrate.ErrForeignTable) || !strings.Contains(err.Error(), m[1]+" lacks the columns") {
				t.Errorf("Up beside a foreign %s = %v, want ErrForeignTable and its name", m[1], err)
			}
			_, err = db.Exec(`INSERT INTO ` + m[1] + ` (theirs) VALUES (1)`)
			assert.NoError(t, err, "the foreign table has changed")
		}
	})
}
