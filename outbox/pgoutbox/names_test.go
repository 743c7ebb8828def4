package pgoutbox_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

func namedStores() map[string]func(db *sql.DB, schema, prefix string, shards int) (driver.SQLStore, error) {
	return map[string]func(db *sql.DB, schema, prefix string, shards int) (driver.SQLStore, error){
		"cursor": func(db *sql.DB, schema, prefix string, shards int) (driver.SQLStore, error) {
			return pgoutbox.New(db, pgoutbox.Config{Schema: schema, Prefix: prefix, Shards: shards})
		},
		"status": func(db *sql.DB, schema, prefix string, shards int) (driver.SQLStore, error) {
			return pgoutbox.New(db, pgoutbox.Config{Status: true, Schema: schema, Prefix: prefix, Shards: shards})
		},
	}
}

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

// everyStatement lists cases of the suite that together run each of the store's statements.
var everyStatement = []string{
	"Faithful", "ManyShards", "ShardsAreFixed", "Fencing", "AsideIsRemembered", "ByKeyPasses", "MaxAgeParksStrict",
	"MaxRetriesParks", "RetryParked", "Prune", "Stats", "Failing",
}

// TestNamedTables runs these cases on tables in another schema and with another prefix, beside
// an outbox under the default names, which stays empty.
func TestNamedTables(t *testing.T) {
	for kind, make := range namedStores() {
		t.Run(kind, func(t *testing.T) {
			outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
				db := servicetest.Postgres(t)
				schema := elsewhere(t, db)
				beside, err := make(db, "", "", 1)
				if err != nil {
					t.Fatal(err)
				}
				store, err := make(db, schema, "lease", shards) // column names begin with it, too
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range []driver.SQLStore{beside, store} {
					if err := s.Migrate(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				t.Cleanup(func() {
					if err := store.(driver.Adopter).Adopt(context.Background()); err != nil {
						t.Errorf("Adopt: %v", err)
					}
					if err := store.(driver.Rebaser).Rebase(context.Background(), time.Now()); err != nil {
						t.Errorf("Rebase: %v", err)
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

func TestNamedTablesErrors(t *testing.T) {
	db := servicetest.Postgres(t)
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
		if err := store.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "CREATE SCHEMA no_such_schema") {
			t.Errorf("%s: Migrate without the schema: %v, want what makes it", kind, err)
		}
	}
}

// Two outboxes in one schema have their own tables and versions.
func TestTwoPrefixes(t *testing.T) {
	db := servicetest.Postgres(t)
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
