package sqliteoutbox_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// namedStore has the common methods of both stores.
type namedStore interface {
	driver.Store
	Migrate(ctx context.Context) error
}

func namedStores() map[string]func(db *sql.DB, prefix string, shards int) (namedStore, error) {
	return map[string]func(db *sql.DB, prefix string, shards int) (namedStore, error){
		"cursor": func(db *sql.DB, prefix string, shards int) (namedStore, error) {
			return sqliteoutbox.New(db, sqliteoutbox.Config{Prefix: prefix, Shards: shards})
		},
		"status": func(db *sql.DB, prefix string, shards int) (namedStore, error) {
			return sqliteoutbox.New(db, sqliteoutbox.Config{Status: true, Prefix: prefix, Shards: shards})
		},
	}
}

// everyStatement lists cases of the suite that together run each of the store's statements.
var everyStatement = []string{
	"Faithful", "ManyShards", "ShardsAreFixed", "Fencing", "AsideIsRemembered", "ByKeyPasses", "MaxAgeParksStrict",
	"MaxRetriesParks", "RetryParked", "Prune", "Stats", "Failing",
}

// TestNamedTables runs these cases on tables with another prefix, beside an outbox under the
// default names, which stays empty.
func TestNamedTables(t *testing.T) {
	for kind, make := range namedStores() {
		t.Run(kind, func(t *testing.T) {
			outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
				_, db := servicetest.SQLite(t)
				beside, err := make(db, "", 1)
				if err != nil {
					t.Fatal(err)
				}
				store, err := make(db, "lease", shards) // column names begin with it, too
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range []namedStore{beside, store} {
					if err := s.Migrate(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				t.Cleanup(func() {
					lease, err := beside.Lease(context.Background(), 0, "me", 1e9)
					if err != nil {
						t.Fatal(err)
					}
					batch, err := beside.Read(context.Background(), lease, driver.Query{Limit: 10})
					if err != nil || len(batch.Items) > 0 {
						t.Errorf("the outbox beside has %d events (%v), want none", len(batch.Items), err)
					}
				})
				return outboxtest.Harness{
					Store: store,
					InTx: func(ctx context.Context, fn func(ctx context.Context, tx sqltx.Execer) error) error {
						return sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error { return fn(ctx, tx) })
					},
					Reopen: func(shards int) (driver.Store, error) { return make(db, "lease", shards) },
				}
			}, everyStatement...)
		})
	}
}

func TestNamedTablesErrors(t *testing.T) {
	_, db := servicetest.SQLite(t)
	for kind, make := range namedStores() {
		if _, err := make(db, "a.b", 1); err == nil || !strings.Contains(err.Error(), "Config.Prefix") {
			t.Errorf("%s: prefix a.b: %v, want an error that names Config.Prefix", kind, err)
		}
	}
}
