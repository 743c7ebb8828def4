package pgoutbox_test

import (
	"context"
	"database/sql"
	"testing"
)

// elsewhere creates a schema that is not on the pool's search path.
func elsewhere(t testing.TB, db *sql.DB) string {
	t.Helper()
	var schema string
	if err := db.QueryRowContext(t.Context(), `SELECT current_schema() || '_x'`).Scan(&schema); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE SCHEMA `+schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.ExecContext(context.Background(), `DROP SCHEMA `+schema+` CASCADE`); err != nil {
			t.Error(err)
		}
	})
	return schema
}

func TestNamedTables(t *testing.T) { database.NamedTables(t) }

func TestNamedTablesErrors(t *testing.T) { database.NamedTablesErrors(t) }

func TestTwoPrefixes(t *testing.T) { database.TwoPrefixes(t) }
