package mysqloutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
)

// elsewhere creates a database that is not the pool's.
func elsewhere(t testing.TB, db *sql.DB) string {
	t.Helper()
	var schema string
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT CONCAT(DATABASE(), '_x')`).Scan(&schema))
	_, err := db.ExecContext(t.Context(), `CREATE DATABASE `+schema)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := db.ExecContext(context.Background(), `DROP DATABASE `+schema)
		assert.NoError(t, err)
	})
	return schema
}

// A foreign table of the same name in the other database is refused by name.
func TestNamedTablesBesideAForeignOne(t *testing.T) {
	servicetest.EachMySQL(t, func(t *testing.T, s servicetest.MySQLServer) {
		db := s.DB(t)
		schema := elsewhere(t, db)
		for table, status := range map[string]bool{"shop_retries": false, "shop_event_settings": true} {
			_, err := db.ExecContext(t.Context(), `CREATE TABLE `+schema+`.`+table+` (theirs INT)`)
			require.NoError(t, err)
			store, err := mysqloutbox.New(db, mysqloutbox.Config{Status: status, Schema: schema, Prefix: "shop"})
			require.NoError(t, err)
			if err := store.Migrate(t.Context()); !errors.Is(err, migrate.ErrForeignTable) || !strings.Contains(err.Error(), table) {
				t.Errorf("beside a foreign %s: %v, want ErrForeignTable and its name", table, err)
			}
		}
	})
}

func TestNamedTables(t *testing.T) { each(t, storetest.Database.NamedTables) }

func TestNamedTablesErrors(t *testing.T) { each(t, storetest.Database.NamedTablesErrors) }

func TestTwoPrefixes(t *testing.T) { each(t, storetest.Database.TwoPrefixes) }
