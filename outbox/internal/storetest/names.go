package storetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// everyStatement lists cases of the suite that together run each of a store's statements.
var everyStatement = []string{
	"Faithful", "ManyShards", "ShardsAreFixed", "Fencing", "AsideIsRemembered", "ByKeyPasses", "MaxAgeParksStrict",
	"MaxRetriesParks", "RetryParked", "Prune", "Stats", "Failing",
}

// NamedTables runs these cases on tables in another schema and with another prefix, beside an
// outbox under the default names, which stays empty.
func (d Database) NamedTables(t *testing.T) {
	for kind, status := range kinds {
		t.Run(kind, func(t *testing.T) {
			outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
				db := d.Open(t)
				c := Config{Status: status, Prefix: "lease", Shards: shards} // column names begin with it, too
				if d.Elsewhere != nil {
					c.Schema = d.Elsewhere(t, db)
				}
				beside, store := d.on(t, db, Config{Status: status}), d.on(t, db, c)
				t.Cleanup(func() {
					if a, ok := store.(driver.Adopter); ok {
						if err := a.Adopt(context.Background()); err != nil {
							t.Errorf("Adopt: %v", err)
						}
					}
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
				return d.harness(store, db, c)
			}, everyStatement...)
		})
	}
}

// NamedTablesErrors gives names that no table can have, and a schema that is not there.
func (d Database) NamedTablesErrors(t *testing.T) {
	db := d.Open(t)
	for kind, status := range kinds {
		refused := map[string]Config{"Config.Prefix": {Status: status, Prefix: "a.b"}}
		if d.Elsewhere != nil {
			refused["Config.Schema"] = Config{Status: status, Schema: `a"; DROP TABLE x; --`}
		}
		for want, c := range refused {
			if _, err := d.New(db, c); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: names of %+v: %v, want an error that names %s", kind, c, err, want)
			}
		}
		if d.Elsewhere == nil {
			continue
		}
		store, err := d.New(db, Config{Status: status, Schema: "no_such_schema"})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), d.Create+" no_such_schema") {
			t.Errorf("%s: Migrate without the schema: %v, want what makes it", kind, err)
		}
	}
}

// TwoPrefixes: outboxes in one schema have their own tables and versions.
func (d Database) TwoPrefixes(t *testing.T) {
	db := d.Open(t)
	for _, status := range kinds {
		for _, prefix := range []string{"", "shop", "shop_2"} {
			for range 2 {
				d.on(t, db, Config{Status: status, Prefix: prefix})
			}
		}
	}
}
