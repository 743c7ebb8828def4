package redisidempotency_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/redisidempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

// BenchmarkPrecheck compares a duplicate and a new key with and without Redis in front of the
// database.
func BenchmarkPrecheck(b *testing.B) {
	client := open(b, servicetest.Redis(b))
	for name, connect := range map[string]struct {
		dialect sqltx.Dialect
		open    func(testing.TB) *sql.DB
	}{
		"postgres": {sqltx.Postgres, servicetest.Postgres},
		"mariadb":  {sqltx.MySQL, servicetest.MariaDB},
		"mysql":    {sqltx.MySQL, servicetest.MySQL},
	} {
		truth, err := sqlidempotency.New(connect.open(b), sqlidempotency.Config{Dialect: connect.dialect})
		if err != nil {
			b.Fatal(err)
		}
		if err := truth.Migrate(b.Context()); err != nil {
			b.Fatal(err)
		}
		layered, err := idempotency.NewLayered(newStore(b, client, redisidempotency.Config{Prefix: redistest.Prefix(b, client)}), truth,
			idempotency.LayeredConfig{Timeout: time.Second, OnError: func(err error) { b.Error(err) }})
		if err != nil {
			b.Fatal(err)
		}
		next := 0
		for _, side := range []struct {
			name  string
			store driver.BatchStore
		}{{"sql", truth}, {"layered", layered}} {
			once := func(key string) {
				if _, err := side.store.Once(b.Context(), record(key), nothing); err != nil {
					b.Fatal(err)
				}
			}
			old := make([]driver.Record, 100)
			for i := range old {
				old[i] = record(fmt.Sprintf("g:old-%s-%d", side.name, i))
				once(old[i].Key)
			}
			b.Run(name+"/duplicate/"+side.name, func(b *testing.B) {
				for b.Loop() {
					once(old[0].Key)
				}
			})
			b.Run(name+"/duplicates-100/"+side.name, func(b *testing.B) {
				for b.Loop() {
					if _, err := side.store.OnceBatch(b.Context(), old, func(context.Context, []int) error { return nil }); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(name+"/new/"+side.name, func(b *testing.B) {
				for b.Loop() {
					next++
					once(fmt.Sprintf("g:%d", next))
				}
			})
		}
	}
}
