package sqlidempotency_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/sqltx"
)

// BenchmarkFresh compares the costs of a hundred new keys: each in its own transaction, one by
// one in one transaction, and in one statement; and of a statement with nine tenths duplicates.
func BenchmarkFresh(b *testing.B) {
	const size = 100
	for _, on := range databases {
		b.Run(on.name, func(b *testing.B) {
			db, _ := pools(b, on)
			s := migrated(b, db, sqlidempotency.Config{Dialect: on.Dialect})
			next := 0
			keys := func(n int) []driver.Record {
				out := make([]driver.Record, n)
				for i := range out {
					next++
					out[i] = record(fmt.Sprintf("stats:01997a6c-7d3c-7000-8000-%012x", next*2654435761%(1<<40)))
				}
				return out
			}
			once := func(ctx context.Context, records []driver.Record) error {
				for _, r := range records {
					if _, err := s.Once(ctx, r, nothing); err != nil {
						return err
					}
				}
				return nil
			}
			run := func(name string, f func(ctx context.Context) error) {
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						if err := f(b.Context()); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "keys/s")
				})
			}
			run("transaction-each", func(ctx context.Context) error { return once(ctx, keys(size)) })
			run("one-transaction", func(ctx context.Context) error {
				return sqltx.Do(ctx, db, func(ctx context.Context, _ *sql.Tx) error { return once(ctx, keys(size)) })
			})
			batch := func(ctx context.Context, records []driver.Record) error {
				_, err := s.OnceBatch(ctx, records, func(context.Context, []int) error { return nil })
				return err
			}
			run("batch", func(ctx context.Context) error { return batch(ctx, keys(size)) })
			// The statement alone, without the commit that follows it.
			b.Run("statement", func(b *testing.B) {
				err := sqltx.Do(b.Context(), db, func(ctx context.Context, _ *sql.Tx) error {
					for b.Loop() {
						if _, err := s.Fresh(ctx, keys(size)); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "keys/s")
			})
			old := keys(size)
			if err := batch(b.Context(), old); err != nil {
				b.Fatal(err)
			}
			run("batch-mostly-old", func(ctx context.Context) error {
				return batch(ctx, append(keys(size/10), old[size/10:]...))
			})
		})
	}
}

// BenchmarkLease is a claim and its completion.
func BenchmarkLease(b *testing.B) {
	for _, on := range databases {
		b.Run(on.name, func(b *testing.B) {
			db, _ := pools(b, on)
			s := newLeases(b, db, on.Dialect)
			for i := 0; b.Loop(); i++ {
				c, err := s.Claim(b.Context(), record(fmt.Sprint("k", i)), 1e9)
				if err == nil {
					err = s.Complete(b.Context(), c, []byte("done"))
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
