package migrate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// ours is a package with three tables, the last of which a second migration creates.
func ours(dialect string) migrate.Set {
	maybe := ""
	if dialect == migrate.MySQL {
		maybe = "IF NOT EXISTS "
	}
	return migrate.Set{Package: "demo", Dialect: dialect, FS: fstest.MapFS{
		"0001_two.sql": {Data: []byte("-- +goose Up\nCREATE TABLE " + maybe + "first (id BIGINT PRIMARY KEY, body VARCHAR(20) NOT NULL);\n" +
			"CREATE TABLE " + maybe + "second (id BIGINT PRIMARY KEY);\n")},
		"0002_more.sql": {Data: []byte("-- +goose Up\nALTER TABLE second ADD COLUMN extra INT;\nCREATE TABLE " + maybe + "third (id BIGINT PRIMARY KEY);\n")},
	}}
}

func TestForeignTable(t *testing.T) {
	eachDialect(t, func(t *testing.T, d database) {
		db, ctx := d.open(), context.Background()
		set := ours(d.dialect)
		for _, foreign := range []struct{ name, columns, says string }{
			{"first", "(nr INTEGER, body VARCHAR(20))", "first lacks the columns id and has the foreign columns nr"},
			{"second", "(id BIGINT, secret INTEGER)", "second has the foreign columns secret"},
			{"third", "(id VARCHAR(20))", "third has the columns id varchar instead of bigint"},
		} {
			_, err := db.Exec(`CREATE TABLE ` + foreign.name + ` ` + foreign.columns)
			require.NoError(t, err)
			err = set.Up(ctx, db)
			if err == nil || !strings.Contains(err.Error(), foreign.name) {
				t.Fatalf("Up beside a foreign %s = %v, want an error that names it", foreign.name, err)
			}
			if d.dialect == migrate.MySQL {
				if !errors.Is(err, migrate.ErrForeignTable) || !strings.Contains(err.Error(), foreign.says) ||
					!strings.Contains(err.Error(), "Rename that table") || !strings.Contains(err.Error(), "millrace_demo_version") {
					t.Errorf("Up = %v, want %q and the remedy", err, foreign.says)
				}
				for _, other := range []string{"first", "second", "third"} {
					if _, err := db.Exec(`SELECT 1 FROM ` + other); err == nil && other != foreign.name {
						t.Errorf("%s was made before %s was refused", other, foreign.name)
					}
				}
			}
			_, err = db.Exec(`DROP TABLE ` + foreign.name)
			require.NoError(t, err)
		}
		// The refusal has released the lock, and has recorded nothing.
		require.NoError(t, set.Up(ctx, d.open()))
		_, err := db.Exec(`INSERT INTO third VALUES (1)`)
		assert.NoError(t, err)
	})
}

// A recorded migration's table is the package's own, after any change, also when a later one
// creates it again.
func TestOwnTableChanges(t *testing.T) { servicetest.EachMySQL(t, testOwnTableChanges) }

func testOwnTableChanges(t *testing.T, server servicetest.MySQLServer) {
	db, ctx := server.DB(t), context.Background()
	set := ours(migrate.MySQL)
	files := set.FS.(fstest.MapFS)
	require.NoError(t, set.Up(ctx, db))
	_, err := db.Exec(`ALTER TABLE first ADD COLUMN theirs INT`)
	require.NoError(t, err)
	files["0003_again.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nDROP TABLE IF EXISTS first;\nCREATE TABLE IF NOT EXISTS first (other INT);\n")}
	require.NoError(t, set.Up(ctx, db))
	_, err = db.Exec(`INSERT INTO first (other) VALUES (1)`)
	assert.NoError(t, err)
}

// The next Up continues a migration whose process was killed at any step.
func TestCutMigration(t *testing.T) { servicetest.EachMySQL(t, testCutMigration) }

func testCutMigration(t *testing.T, server servicetest.MySQLServer) {
	statements := []string{
		`CREATE TABLE IF NOT EXISTS first (id BIGINT PRIMARY KEY, body VARCHAR(20) NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS second (id BIGINT PRIMARY KEY)`,
		// MySQL has no ADD COLUMN IF NOT EXISTS.
		`SET @q = IF((SELECT count(*) FROM information_schema.columns WHERE table_schema = database()
			AND table_name = 'second' AND column_name = 'extra') = 0, 'ALTER TABLE second ADD COLUMN extra INT', 'DO 0')`,
		`PREPARE q FROM @q`,
		`EXECUTE q`,
	}
	for done := range len(statements) + 1 {
		db, ctx := server.DB(t), context.Background()
		set := migrate.Set{Package: "demo", Dialect: migrate.MySQL, FS: fstest.MapFS{
			"0001_cut.sql": {Data: []byte("-- +goose Up\n" + strings.Join(statements, ";\n") + ";\n")}}}
		killed, err := db.Conn(ctx)
		require.NoError(t, err)
		for _, s := range statements[:done] {
			_, err := killed.ExecContext(ctx, s)
			require.NoError(t, err)
		}
		require.NoError(t, killed.Close())
		assert.NoErrorf(t, set.Up(ctx, db), "Up behind %d statements", done)
		_, err = db.Exec(`INSERT INTO second (id, extra) VALUES (1, 2)`)
		assert.NoError(t, err)
	}
}
