package mysqloutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// namedStore has the common methods of both stores.
type namedStore interface {
	driver.Store
	Migrate(ctx context.Context) error
}

func namedStores() map[string]func(db *sql.DB, schema, prefix string, shards int) (namedStore, error) {
	return map[string]func(db *sql.DB, schema, prefix string, shards int) (namedStore, error){
		"cursor": func(db *sql.DB, schema, prefix string, shards int) (namedStore, error) {
			return mysqloutbox.New(db, mysqloutbox.Config{Schema: schema, Prefix: prefix, Shards: shards})
		},
		"status": func(db *sql.DB, schema, prefix string, shards int) (namedStore, error) {
			return mysqloutbox.New(db, mysqloutbox.Config{Status: true, Schema: schema, Prefix: prefix, Shards: shards})
		},
	}
}

// elsewhere creates a database that is not the pool's.
func elsewhere(t testing.TB, db *sql.DB) string {
	t.Helper()
	var schema string
	if err := db.QueryRowContext(t.Context(), `SELECT CONCAT(DATABASE(), '_x')`).Scan(&schema); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE DATABASE `+schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.ExecContext(context.Background(), `DROP DATABASE `+schema); err != nil {
			t.Error(err)
		}
	})
	return schema
}

// everyStatement lists cases of the suite that together run each of the store's statements.
var everyStatement = []string{
	"Faithful", "ManyShards", "ShardsAreFixed", "Fencing", "AsideIsRemembered", "ByKeyPasses", "MaxAgeParksStrict",
	"MaxRetriesParks", "RetryParked", "Prune", "Stats", "Failing",
}

// TestNamedTables runs these cases on tables in another database and with another prefix,
// beside an outbox under the default names, which stays empty.
func TestNamedTables(t *testing.T) { servicetest.EachMySQL(t, testNamedTables) }

func testNamedTables(t *testing.T, _ servicetest.MySQLServer) {
	for kind, make := range namedStores() {
		t.Run(kind, func(t *testing.T) {
			outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
				db := servicetest.Chosen(t).DB(t)
				schema := elsewhere(t, db)
				beside, err := make(db, "", "", 1)
				if err != nil {
					t.Fatal(err)
				}
				store, err := make(db, schema, "lease", shards) // column names begin with it, too
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range []namedStore{beside, store} {
					if err := s.Migrate(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				t.Cleanup(func() {
					if r, ok := store.(driver.Rebaser); ok {
						if err := r.Rebase(context.Background(), time.Now()); err != nil {
							t.Errorf("Rebase: %v", err)
						}
					}
					lease, err := beside.Lease(context.Background(), 0, "me", time.Hour)
					if err != nil {
						t.Fatal(err)
					}
					batch, err := beside.Read(context.Background(), lease, driver.Query{Limit: 10})
					if err != nil || len(batch.Items) > 0 {
						t.Errorf("the outbox beside has %d events (%v), want none", len(batch.Items), err)
					}
				})
				return outboxtest.Harness{
					Store: store, InTx: inTx(db),
					Reopen: func(shards int) (driver.Store, error) { return make(db, schema, "lease", shards) },
				}
			}, everyStatement...)
		})
	}
}

func TestNamedTablesErrors(t *testing.T) { servicetest.EachMySQL(t, testNamedTablesErrors) }

func testNamedTablesErrors(t *testing.T, s servicetest.MySQLServer) {
	db := s.DB(t)
	for kind, make := range namedStores() {
		for want, names := range map[string][2]string{
			"Config.Schema": {`a"; DROP TABLE x; --`, ""}, "Config.Prefix": {"", "a.b"},
		} {
			if _, err := make(db, names[0], names[1], 1); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: names %q: %v, want an error that names %s", kind, names, err, want)
			}
		}
		store, err := make(db, "no_such_schema", "", 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "CREATE DATABASE no_such_schema") {
			t.Errorf("%s: Migrate without the schema: %v, want what makes it", kind, err)
		}
	}
}

// A foreign table of the same name in the other database is refused by name.
func TestNamedTablesBesideAForeignOne(t *testing.T) {
	servicetest.EachMySQL(t, func(t *testing.T, s servicetest.MySQLServer) {
		db := s.DB(t)
		schema := elsewhere(t, db)
		for kind, table := range map[string]string{"cursor": "shop_retries", "status": "shop_event_settings"} {
			if _, err := db.ExecContext(t.Context(), `CREATE TABLE `+schema+`.`+table+` (theirs INT)`); err != nil {
				t.Fatal(err)
			}
			store, err := namedStores()[kind](db, schema, "shop", 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Migrate(t.Context()); !errors.Is(err, migrate.ErrForeignTable) || !strings.Contains(err.Error(), table) {
				t.Errorf("%s beside a foreign %s: %v, want ErrForeignTable and its name", kind, table, err)
			}
		}
	})
}

// Two outboxes in one schema have their own tables and versions.
func TestTwoPrefixes(t *testing.T) { servicetest.EachMySQL(t, testTwoPrefixes) }

func testTwoPrefixes(t *testing.T, s servicetest.MySQLServer) {
	db := s.DB(t)
	for kind, make := range namedStores() {
		for _, prefix := range []string{"", "shop", "shop_2"} {
			store, err := make(db, "", prefix, 1)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := store.Migrate(t.Context()); err != nil {
					t.Errorf("%s: Migrate of %q: %v", kind, prefix, err)
				}
			}
		}
	}
}
