package idempotencytest_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/sqltx"
)

// batchDefects are the defects of OnceBatch and Fresh.
var batchDefects = []defect{
	{
		"forgets to look for repeated keys in a batch",
		[]string{"batch-picks-the-new"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{batch: func(ctx context.Context, rs []driver.Record, fn batchHandler) ([]int, error) {
				var all []int
				_, err := s.OnceBatch(ctx, rs, func(ctx context.Context, fresh []int) error {
					for i, r := range rs {
						if slices.ContainsFunc(fresh, func(j int) bool { return rs[j].Key == r.Key }) {
							all = append(all, i)
						}
					}
					return fn(ctx, all)
				})
				return all, err
			}}
		},
	},
	{
		"returns the new keys in the order of the database",
		[]string{"batch-picks-the-new", "batch-large"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{batch: func(ctx context.Context, rs []driver.Record, fn batchHandler) ([]int, error) {
				byKey := func(i, j int) int { return strings.Compare(rs[i].Key, rs[j].Key) }
				fresh, err := s.OnceBatch(ctx, rs, func(ctx context.Context, fresh []int) error {
					sorted := slices.Clone(fresh)
					slices.SortFunc(sorted, byKey)
					return fn(ctx, sorted)
				})
				slices.SortFunc(fresh, byKey)
				return fresh, err
			}}
		},
	},
	{
		"runs the handler without new keys",
		[]string{"batch-picks-the-new"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{batch: func(ctx context.Context, rs []driver.Record, fn batchHandler) ([]int, error) {
				ran := false
				fresh, err := s.OnceBatch(ctx, rs, func(ctx context.Context, fresh []int) error {
					ran = true
					return fn(ctx, fresh)
				})
				if err == nil && !ran {
					err = fn(ctx, nil)
				}
				return fresh, err
			}}
		},
	},
	{
		"marks a batch before its handler",
		[]string{"batch-all-or-nothing", "batch-takeover", "batch-storm"},
		func(s driver.SQLStore[*sql.Tx], db *sql.DB) backend {
			return backend{
				batch: func(ctx context.Context, rs []driver.Record, fn batchHandler) ([]int, error) {
					fresh, err := s.OnceBatch(ctx, rs, func(context.Context, []int) error { return nil })
					if err != nil || len(fresh) == 0 {
						return nil, err
					}
					err = sqltx.Do(ctx, db, func(ctx context.Context, _ *sql.Tx) error { return fn(ctx, fresh) })
					if err != nil {
						return nil, err
					}
					return fresh, nil
				},
				// The one key that the batch waits for, marked in the same way.
				once: func(ctx context.Context, r driver.Record, fn handler) (bool, error) {
					if fresh, err := s.Once(ctx, r, nothing); err != nil || !fresh {
						return false, err
					}
					err := sqltx.Do(ctx, db, func(ctx context.Context, _ *sql.Tx) error { return fn(ctx) })
					return err == nil, err
				},
			}
		},
	},
	{
		"keeps the keys before an empty one",
		[]string{"batch-all-or-nothing"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{batch: func(ctx context.Context, rs []driver.Record, fn batchHandler) ([]int, error) {
				for i, r := range rs {
					if r.Key == "" {
						if _, err := s.OnceBatch(ctx, rs[:i], func(context.Context, []int) error { return nil }); err != nil {
							return nil, err
						}
					}
				}
				return s.OnceBatch(ctx, rs, fn)
			}}
		},
	},
	{
		"escapes keys in a batch in another way than by themselves",
		[]string{"batch-odd-keys"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{batch: func(ctx context.Context, rs []driver.Record, fn batchHandler) ([]int, error) {
				changed := slices.Clone(rs)
				for i := range changed {
					changed[i].Key = strings.ReplaceAll(changed[i].Key, `"`, `\"`)
				}
				return s.OnceBatch(ctx, changed, fn)
			}}
		},
	},
	{
		"takes the first thousand keys of a batch only",
		[]string{"batch-large"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{batch: func(ctx context.Context, rs []driver.Record, fn batchHandler) ([]int, error) {
				return s.OnceBatch(ctx, rs[:min(len(rs), 1000)], fn)
			}}
		},
	},
	{
		"begins a transaction for Fresh by itself",
		[]string{"fresh-needs-a-transaction", "fresh-in-a-transaction", "fresh-in-a-handler"},
		func(s driver.SQLStore[*sql.Tx], db *sql.DB) backend {
			return backend{fresh: func(ctx context.Context, rs []driver.Record) (fresh []int, err error) {
				ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond) // or it waits for its own outer transaction
				defer cancel()
				err = sqltx.Do(withoutValues{ctx}, db, func(ctx context.Context, _ *sql.Tx) error {
					fresh, err = s.Fresh(ctx, rs)
					return err
				})
				return fresh, err
			}}
		},
	},
}
