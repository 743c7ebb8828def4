package pgoutbox_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// elsewhere creates a schema that is not on the pool's search path.
func elsewhere(t testing.TB, db *sql.DB) string {
	t.Helper()
	var schema string
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT current_schema() || '_x'`).Scan(&schema))
	_, err := db.ExecContext(t.Context(), `CREATE SCHEMA `+schema)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := db.ExecContext(context.Background(), `DROP SCHEMA `+schema+` CASCADE`)
		assert.NoError(t, err)
	})
	return schema
}

func TestNamedTables(t *testing.T) { database.NamedTables(t) }

func TestNamedTablesErrors(t *testing.T) { database.NamedTablesErrors(t) }

func TestTwoPrefixes(t *testing.T) { database.TwoPrefixes(t) }
