package idempotencytest_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/idempotencytest"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type handler = func(context.Context) error

// backend is a correct store with at most one defect.
type backend struct {
	driver.SQLStore[*sql.Tx]
	once  func(ctx context.Context, r driver.Record, fn handler) (bool, error)
	seen  func(ctx context.Context, key string) (bool, error)
	prune func(ctx context.Context, age time.Duration, limit int) (int, error)
	batch func(ctx context.Context, rs []driver.Record, fn batchHandler) ([]int, error)
	fresh func(ctx context.Context, rs []driver.Record) ([]int, error)

	forget func(ctx context.Context, keys []string) (int, error)
}

func (b backend) Forget(ctx context.Context, keys []string) (int, error) {
	if b.forget == nil {
		return b.SQLStore.Forget(ctx, keys)
	}
	return b.forget(ctx, keys)
}

type batchHandler = func(context.Context, []int) error

func (b backend) OnceBatch(ctx context.Context, rs []driver.Record, fn func(context.Context, []int) error) ([]int, error) {
	if b.batch == nil {
		return b.SQLStore.OnceBatch(ctx, rs, fn)
	}
	return b.batch(ctx, rs, fn)
}

func (b backend) Fresh(ctx context.Context, rs []driver.Record) ([]int, error) {
	if b.fresh == nil {
		return b.SQLStore.Fresh(ctx, rs)
	}
	return b.fresh(ctx, rs)
}

func (b backend) Once(ctx context.Context, r driver.Record, fn func(context.Context) error) (bool, error) {
	if b.once == nil {
		return b.SQLStore.Once(ctx, r, fn)
	}
	return b.once(ctx, r, fn)
}

func (b backend) Seen(ctx context.Context, key string) (bool, error) {
	if b.seen == nil {
		return b.SQLStore.Seen(ctx, key)
	}
	return b.seen(ctx, key)
}

func (b backend) Prune(ctx context.Context, age time.Duration, limit int) (int, error) {
	if b.prune == nil {
		return b.SQLStore.Prune(ctx, age, limit)
	}
	return b.prune(ctx, age, limit)
}

func nothing(context.Context) error { return nil }

// defect is one way to break a store.
type defect struct {
	name   string
	caught []string // the cases that must fail
	with   func(s driver.SQLStore[*sql.Tx], db *sql.DB) backend
}

// defects lists the cases that must fail for each broken backend.
var defects = []defect{
	{
		"marks in a transaction before the handler's",
		[]string{"error-leaves-no-key", "panic-leaves-no-key", "concurrent-takeover", "storm"},
		func(s driver.SQLStore[*sql.Tx], db *sql.DB) backend {
			return backend{once: func(ctx context.Context, r driver.Record, fn handler) (bool, error) {
				if fresh, err := s.Once(ctx, r, nothing); err != nil || !fresh {
					return false, err
				}
				err := sqltx.Do(ctx, db, func(ctx context.Context, _ *sql.Tx) error { return fn(ctx) })
				return err == nil, err
			}}
		},
	},
	{
		"swallows the handler's error and commits",
		[]string{"error-leaves-no-key", "error-is-kept"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{once: func(ctx context.Context, r driver.Record, fn handler) (bool, error) {
				return s.Once(ctx, r, func(ctx context.Context) error {
					_ = fn(ctx)
					return nil
				})
			}}
		},
	},
	{
		"commits and then reports the handler's error",
		[]string{"error-leaves-no-key"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{once: func(ctx context.Context, r driver.Record, fn handler) (bool, error) {
				var failed error
				fresh, err := s.Once(ctx, r, func(ctx context.Context) error {
					failed = fn(ctx)
					return nil
				})
				return fresh && failed == nil, errors.Join(err, failed)
			}}
		},
	},
	{
		"marks after the handler",
		[]string{"concurrent-one-effect"},
		func(s driver.SQLStore[*sql.Tx], db *sql.DB) backend {
			return backend{once: func(ctx context.Context, r driver.Record, fn handler) (bool, error) {
				if seen, err := s.Seen(ctx, r.Key); err != nil || seen {
					return false, err
				}
				if err := sqltx.Do(ctx, db, func(ctx context.Context, _ *sql.Tx) error { return fn(ctx) }); err != nil {
					return false, err
				}
				_, err := s.Once(ctx, r, nothing)
				return err == nil, err
			}}
		},
	},
	{
		"calls a key handled that is still being handled",
		[]string{"concurrent-takeover"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			var running sync.Map
			return backend{once: func(ctx context.Context, r driver.Record, fn handler) (bool, error) {
				if _, busy := running.LoadOrStore(r.Key, true); busy {
					return false, nil
				}
				defer running.Delete(r.Key)
				return s.Once(ctx, r, fn)
			}}
		},
	},
	{
		"gives the handler no transaction",
		[]string{"transaction-in-context", "fresh-then-duplicate"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{once: func(ctx context.Context, r driver.Record, fn handler) (bool, error) {
				return s.Once(ctx, r, func(context.Context) error { return fn(ctx) })
			}}
		},
	},
	{
		"begins its own transaction inside an outer one",
		[]string{"outer-commit", "outer-rollback", "same-key-inside"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{once: func(ctx context.Context, r driver.Record, fn handler) (bool, error) {
				ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond) // or it waits for its own outer transaction
				defer cancel()
				return s.Once(withoutValues{ctx}, r, fn)
			}}
		},
	},
	{
		"recovers the handler's panic",
		[]string{"panic-leaves-no-key"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{once: func(ctx context.Context, r driver.Record, fn handler) (bool, error) {
				return s.Once(ctx, r, func(ctx context.Context) error {
					defer func() { _ = recover() }()
					return fn(ctx)
				})
			}}
		},
	},
	{
		"accepts an empty key",
		[]string{"empty-key"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{once: func(ctx context.Context, r driver.Record, fn handler) (bool, error) {
				if r.Key == "" {
					r.Key = "group:"
				}
				return s.Once(ctx, r, fn)
			}}
		},
	},
	{
		"cuts long keys",
		[]string{"long-keys"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return rekeyed(s, func(key string) string { return key[:min(len(key), 191)] })
		},
	},
	{
		"compares keys without regard to case",
		[]string{"odd-keys"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend { return rekeyed(s, strings.ToLower) },
	},
	{
		"ignores spaces at the end of keys",
		[]string{"odd-keys"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend { return rekeyed(s, strings.TrimSpace) },
	},
	{
		"does not heed its context",
		[]string{"cancelled-context", "cancelled-in-handler"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{once: func(ctx context.Context, r driver.Record, fn handler) (bool, error) {
				return s.Once(context.WithoutCancel(ctx), r, fn)
			}}
		},
	},
	{
		"prunes everything",
		[]string{"prune-keeps-newer", "prune-in-chunks"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{prune: func(ctx context.Context, _ time.Duration, limit int) (int, error) {
				return s.Prune(ctx, -time.Hour, limit)
			}}
		},
	},
	{
		"prunes an event's keys of all groups",
		[]string{"prune-keeps-newer"},
		func(s driver.SQLStore[*sql.Tx], db *sql.DB) backend {
			return backend{prune: func(ctx context.Context, age time.Duration, limit int) (int, error) {
				n, err := s.Prune(ctx, age, limit)
				if err == nil {
					_, err = db.ExecContext(ctx, `DELETE FROM event_handled WHERE idempotency_key LIKE 'other:%'`)
				}
				return n, err
			}}
		},
	},
	{
		"ignores the limit of Prune",
		[]string{"prune-in-chunks", "prune-bad-limit"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{prune: func(ctx context.Context, age time.Duration, _ int) (int, error) {
				return s.Prune(ctx, age, 1000)
			}}
		},
	},
	{
		"forgets nothing",
		[]string{"forgotten-keys-are-new", "forget-many"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend { return backend{forget: s.Recorded} },
	},
	{
		"forgets a thousand keys at most",
		[]string{"forget-many"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{forget: func(ctx context.Context, keys []string) (int, error) {
				return s.Forget(ctx, keys[:min(len(keys), 1000)])
			}}
		},
	},
	{
		"forgets the key of a running call",
		[]string{"forget-while-it-runs"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{once: func(ctx context.Context, r driver.Record, fn handler) (bool, error) {
				if _, free := forgotten.LoadAndDelete(r.Key); free {
					return true, fn(ctx)
				}
				return s.Once(ctx, r, marksRunning(r.Key, fn))
			}, forget: func(ctx context.Context, keys []string) (int, error) {
				return s.Forget(ctx, slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
					_, busy := running.Load(key)
					if busy {
						forgotten.Store(key, true)
					}
					return busy
				}))
			}}
		},
	},
	{
		"shows the keys of running calls as recorded",
		[]string{"concurrent-takeover"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{once: func(ctx context.Context, r driver.Record, fn handler) (bool, error) {
				return s.Once(ctx, r, marksRunning(r.Key, fn))
			}, seen: func(ctx context.Context, key string) (bool, error) {
				if _, busy := running.Load(key); busy {
					return true, nil
				}
				return s.Seen(ctx, key)
			}}
		},
	},
	{
		"leaves out empty keys",
		[]string{"forget-no-empty-key"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{forget: func(ctx context.Context, keys []string) (int, error) {
				return s.Forget(ctx, slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == "" }))
			}}
		},
	},
	{
		"prunes nothing",
		[]string{"prune-keeps-newer", "prune-in-chunks"},
		func(s driver.SQLStore[*sql.Tx], _ *sql.DB) backend {
			return backend{prune: func(context.Context, time.Duration, int) (int, error) { return 0, nil }}
		},
	},
}

// running holds the keys of running calls, of both sides of a harness, and forgotten those of them
// that were forgotten.
var running, forgotten sync.Map

func marksRunning(key string, fn handler) handler {
	return func(ctx context.Context) error {
		running.Store(key, true)
		defer running.Delete(key)
		return fn(ctx)
	}
}

// rekeyed changes keys before they reach the store.
func rekeyed(s driver.SQLStore[*sql.Tx], change func(string) string) backend {
	return backend{
		once: func(ctx context.Context, r driver.Record, fn handler) (bool, error) {
			r.Key = change(r.Key)
			return s.Once(ctx, r, fn)
		},
		seen: func(ctx context.Context, key string) (bool, error) { return s.Seen(ctx, change(key)) },
	}
}

type withoutValues struct{ context.Context }

func (withoutValues) Value(any) any { return nil }

// harness gives the store and its peer the defect.
func harness(t *testing.T, with func(driver.SQLStore[*sql.Tx], *sql.DB) backend) idempotencytest.Harness {
	t.Helper()
	path, db := servicetest.SQLite(t)
	second, err := sqlitedb.Open(path, sqlitedb.Config{Synchronous: sqlitedb.Normal})
	require.NoError(t, err)
	t.Cleanup(func() { second.Close() })
	h := idempotencytest.Harness{DB: db, Backdate: func(ctx context.Context, key string, by time.Duration) error {
		_, err := db.ExecContext(ctx, `UPDATE event_handled SET handled_at = ? WHERE idempotency_key = ?`,
			time.Now().Add(-by).UTC().Format("2006-01-02T15:04:05.000Z"), key)
		return err
	}}
	for _, side := range []struct {
		db    *sql.DB
		store *driver.Store
	}{{db, &h.Store}, {second, &h.Peer}} {
		s, err := sqlidempotency.New(side.db, sqlidempotency.Config{Dialect: sqltx.SQLite})
		require.NoError(t, err)
		require.NoError(t, s.Migrate(t.Context()))
		b := with(s, side.db)
		b.SQLStore = s
		*side.store = b
	}
	return h
}

func TestBrokenBackendsAreCaught(t *testing.T) {
	var mutants []conformance.Mutant[idempotencytest.Harness]
	for _, d := range slices.Concat(defects, batchDefects) {
		mutants = append(mutants, conformance.Mutant[idempotencytest.Harness]{
			Name: d.name, Cases: d.caught, Open: func(t *testing.T) idempotencytest.Harness {
				t.Helper()
				h := harness(t, d.with)
				h.Window = 2 * time.Second // time for the defect to appear, even on a slow machine
				return h
			},
		})
	}
	idempotencytest.Suite().Mutants(t, mutants)
}

// TestCorrectBackendPasses is the control: without a defect the same harness passes every case.
func TestCorrectBackendPasses(t *testing.T) {
	idempotencytest.Run(t, func(t *testing.T) idempotencytest.Harness {
		return harness(t, func(driver.SQLStore[*sql.Tx], *sql.DB) backend { return backend{} })
	})
}
