package logtest_test

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logtest"
	"github.com/millrace-go/millrace/internal/log/sqlitelog"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) (sqllog.Log, *sql.DB) {
	t.Helper()
	_, db := servicetest.SQLite(t)
	log, err := sqlitelog.New(db, logtest.Tables)
	require.NoError(t, err)
	logtest.Migrate(t, log, db)
	return log, db
}

// fault is a log with one defect.
type fault struct {
	sqllog.Log
	append  func(ctx context.Context, x sqltx.Execer, entries []log.Entry) error
	lease   func(ctx context.Context, c log.Cursor, holder string, ttl time.Duration) (log.Lease, error)
	release func(ctx context.Context, l log.Lease) error
	renew   func(ctx context.Context, l log.Lease, ttl time.Duration) error
	read    func(ctx context.Context, lane int, after log.Position, max int) ([]log.Entry, log.Position, error)
	advance func(ctx context.Context, l log.Lease, p log.Position, ttl time.Duration) error
	prune   func(ctx context.Context, lane int, before time.Time, limit int) (int, error)
	backlog func(ctx context.Context, c log.Cursor, limit int) (int, time.Time, error)
}

func (f fault) Append(ctx context.Context, x sqltx.Execer, entries []log.Entry) error {
	if f.append != nil {
		return f.append(ctx, x, entries)
	}
	return f.Log.Append(ctx, x, entries)
}

func (f fault) Lease(ctx context.Context, c log.Cursor, holder string, ttl time.Duration) (log.Lease, error) {
	if f.lease != nil {
		return f.lease(ctx, c, holder, ttl)
	}
	return f.Log.Lease(ctx, c, holder, ttl)
}

func (f fault) Release(ctx context.Context, l log.Lease) error {
	if f.release != nil {
		return f.release(ctx, l)
	}
	return f.Log.Release(ctx, l)
}

func (f fault) Renew(ctx context.Context, ttl time.Duration, leases ...log.Lease) error {
	if f.renew != nil {
		return f.renew(ctx, leases[0], ttl)
	}
	return f.Log.Renew(ctx, ttl, leases...)
}

func (f fault) Read(ctx context.Context, lane int, after log.Position, max int) ([]log.Entry, log.Position, error) {
	if f.read != nil {
		return f.read(ctx, lane, after, max)
	}
	return f.Log.Read(ctx, lane, after, max)
}

func (f fault) Advance(ctx context.Context, l log.Lease, p log.Position, ttl time.Duration) error {
	if f.advance != nil {
		return f.advance(ctx, l, p, ttl)
	}
	return f.Log.Advance(ctx, l, p, ttl)
}

func (f fault) Prune(ctx context.Context, lane int, before time.Time, limit int) (int, error) {
	if f.prune != nil {
		return f.prune(ctx, lane, before, limit)
	}
	return f.Log.Prune(ctx, lane, before, limit)
}

func (f fault) Backlog(ctx context.Context, c log.Cursor, lanes, limit int) (int, time.Time, error) {
	if f.backlog != nil {
		return f.backlog(ctx, c, limit)
	}
	return f.Log.Backlog(ctx, c, lanes, limit)
}

// Every case fails on a log with the defect that it has to detect.
func TestSuiteFindsFaults(t *testing.T) {
	type defect struct {
		cases []string
		make  func(l sqllog.Log, db *sql.DB) fault
	}
	defects := map[string]defect{
		"keys are dropped": {[]string{"Fields"}, func(l sqllog.Log, _ *sql.DB) fault {
			return fault{append: func(ctx context.Context, x sqltx.Execer, entries []log.Entry) error {
				entries = slices.Clone(entries)
				for i := range entries {
					entries[i].Key = ""
				}
				return l.Append(ctx, x, entries)
			}}
		}},
		"appends outside the transaction": {[]string{"Uncommitted"}, func(l sqllog.Log, _ *sql.DB) fault {
			var kept []log.Entry
			return fault{
				append: func(ctx context.Context, x sqltx.Execer, entries []log.Entry) error {
					kept = append(kept, entries...)
					return nil
				},
				read: func(ctx context.Context, lane int, after log.Position, max int) ([]log.Entry, log.Position, error) {
					return kept, after, nil
				},
			}
		}},
		"newest first": {[]string{"Order", "Resume", "Stress"}, func(l sqllog.Log, _ *sql.DB) fault {
			return fault{read: func(ctx context.Context, lane int, after log.Position, max int) ([]log.Entry, log.Position, error) {
				entries, next, err := l.Read(ctx, lane, after, max)
				slices.Reverse(entries)
				return entries, next, err
			}}
		}},
		"skips the first of every page": {[]string{"Order", "Lanes", "LeaseStartsEarliest", "Stress"}, func(l sqllog.Log, _ *sql.DB) fault {
			return fault{read: func(ctx context.Context, lane int, after log.Position, max int) ([]log.Entry, log.Position, error) {
				entries, next, err := l.Read(ctx, lane, after, max)
				if len(entries) > 0 {
					entries = entries[1:]
				}
				return entries, next, err
			}}
		}},
		"who reads first takes it away": {[]string{"TwoConsumers"}, func(l sqllog.Log, _ *sql.DB) fault {
			var taken sync.Map
			return fault{read: func(ctx context.Context, lane int, after log.Position, max int) ([]log.Entry, log.Position, error) {
				entries, next, err := l.Read(ctx, lane, after, max)
				return slices.DeleteFunc(entries, func(e log.Entry) bool {
					_, gone := taken.LoadOrStore(e.ID, true)
					return gone
				}), next, err
			}}
		}},
		"anybody may have the lease": {[]string{"LeaseExclusive", "LeaseRush", "RenewExtends", "AdvanceExtends"}, func(l sqllog.Log, db *sql.DB) fault {
			return fault{lease: func(ctx context.Context, c log.Cursor, holder string, ttl time.Duration) (log.Lease, error) {
				if _, err := db.ExecContext(ctx, `UPDATE suite_cursors SET lease_until = 0`); err != nil {
					return log.Lease{}, err
				}
				return l.Lease(ctx, c, holder, ttl)
			}}
		}},
		"leases never run out": {[]string{"LeaseExpires", "Fencing"}, func(l sqllog.Log, _ *sql.DB) fault {
			return fault{lease: func(ctx context.Context, c log.Cursor, holder string, ttl time.Duration) (log.Lease, error) {
				return l.Lease(ctx, c, holder, time.Hour)
			}}
		}},
		"release by name, not by token": {[]string{"LeaseRelease"}, func(l sqllog.Log, db *sql.DB) fault {
			return fault{release: func(ctx context.Context, lease log.Lease) error {
				_, err := on(ctx, db).ExecContext(ctx, `UPDATE suite_cursors SET lease_until = 0`)
				return err
			}}
		}},
		"no fencing": {[]string{"LeaseExclusive", "Fencing", "AdvanceFails"}, func(l sqllog.Log, db *sql.DB) fault {
			return fault{advance: func(ctx context.Context, lease log.Lease, p log.Position, ttl time.Duration) error {
				err := on(ctx, db).QueryRowContext(ctx, `SELECT lease_token, last_id FROM suite_cursors WHERE consumer = ? AND lane = ?`,
					lease.Consumer, lease.Lane).Scan(&lease.Token, &lease.Position.ID)
				if err != nil {
					return err
				}
				return l.Advance(ctx, lease, p, ttl)
			}}
		}},
		"renewing does nothing": {[]string{"RenewExtends", "RenewOfMany"}, func(l sqllog.Log, _ *sql.DB) fault {
			return fault{renew: func(ctx context.Context, lease log.Lease, ttl time.Duration) error {
				return l.Renew(ctx, short, lease)
			}}
		}},
		"advancing forgets": {[]string{"LeaseRelease", "AdvanceTogether", "Backlog", "Stress"}, func(l sqllog.Log, _ *sql.DB) fault {
			return fault{advance: func(ctx context.Context, lease log.Lease, p log.Position, ttl time.Duration) error {
				return l.Advance(ctx, lease, lease.Position, ttl)
			}}
		}},
		"moves beside the transaction": {[]string{"AdvanceFails"}, func(l sqllog.Log, _ *sql.DB) fault {
			return fault{advance: func(ctx context.Context, lease log.Lease, p log.Position, ttl time.Duration) error {
				alone, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
				defer cancel()
				return l.Advance(alone, lease, p, ttl)
			}}
		}},
		"one server does for another": {[]string{"OtherServer"}, func(l sqllog.Log, _ *sql.DB) fault {
			return fault{
				lease: func(ctx context.Context, c log.Cursor, holder string, ttl time.Duration) (log.Lease, error) {
					lease, err := l.Lease(ctx, c, holder, ttl)
					lease.Position.Server = "1"
					return lease, err
				},
				read: func(ctx context.Context, lane int, after log.Position, max int) ([]log.Entry, log.Position, error) {
					entries, next, err := l.Read(ctx, lane, after, max)
					for i := range entries {
						entries[i].Position.Server = "1"
					}
					return entries, next, err
				},
			}
		}},
		"moves from wherever it stands": {[]string{"OtherPosition"}, func(l sqllog.Log, _ *sql.DB) fault {
			return fault{advance: func(ctx context.Context, lease log.Lease, p log.Position, ttl time.Duration) error {
				now, err := l.Lease(ctx, lease.Cursor, lease.Holder, ttl)
				if err != nil {
					return err
				}
				return l.Advance(ctx, now, p, ttl)
			}}
		}},
		"renews wherever it stands": {[]string{"OtherPosition"}, func(l sqllog.Log, db *sql.DB) fault {
			return fault{renew: func(ctx context.Context, lease log.Lease, ttl time.Duration) error {
				if err := db.QueryRowContext(ctx, `SELECT last_id FROM suite_cursors`).Scan(&lease.Position.ID); err != nil {
					return err
				}
				return l.Renew(ctx, ttl, lease)
			}}
		}},
		"moves to a row that is not there": {[]string{"RowGone"}, func(l sqllog.Log, db *sql.DB) fault {
			return fault{advance: func(ctx context.Context, lease log.Lease, p log.Position, ttl time.Duration) error {
				if _, err := db.ExecContext(ctx, `UPDATE suite_cursors SET last_id = ?`, p.ID); err != nil {
					return err
				}
				return l.Advance(ctx, lease, p, ttl)
			}}
		}},
		"moves to a row of another lane": {[]string{"RowOfAnotherLane"}, func(l sqllog.Log, db *sql.DB) fault {
			return fault{advance: func(ctx context.Context, lease log.Lease, p log.Position, ttl time.Duration) error {
				_, err := db.ExecContext(ctx, `UPDATE suite_cursors SET last_id = ? WHERE EXISTS (SELECT 1 FROM suite_messages WHERE id = ?)`, p.ID, p.ID)
				if err != nil {
					return err
				}
				return l.Advance(ctx, lease, p, ttl)
			}}
		}},
		"moves only once": {[]string{"AdvanceAgain"}, func(l sqllog.Log, _ *sql.DB) fault {
			done := map[int64]bool{}
			return fault{advance: func(ctx context.Context, lease log.Lease, p log.Position, ttl time.Duration) error {
				if done[p.ID] {
					return log.ErrLeaseLost
				}
				done[p.ID] = true
				return l.Advance(ctx, lease, p, ttl)
			}}
		}},
		"prunes what is old, read or not": {[]string{"Prune"}, func(l sqllog.Log, db *sql.DB) fault {
			return fault{prune: func(ctx context.Context, lane int, before time.Time, limit int) (int, error) {
				res, err := db.ExecContext(ctx, `DELETE FROM suite_messages WHERE created_at < ?`, before.UnixMicro())
				if err != nil {
					return 0, err
				}
				n, err := res.RowsAffected()
				return int(n), err
			}}
		}},
		"prunes what is read, old or not": {[]string{"PruneAge"}, func(l sqllog.Log, _ *sql.DB) fault {
			return fault{prune: func(ctx context.Context, lane int, _ time.Time, limit int) (int, error) {
				return l.Prune(ctx, lane, time.Now().Add(time.Hour), limit)
			}}
		}},
		"counts without the limit": {[]string{"Backlog"}, func(l sqllog.Log, _ *sql.DB) fault {
			return fault{backlog: func(ctx context.Context, c log.Cursor, _ int) (int, time.Time, error) {
				return l.Backlog(ctx, c, 1, 1000)
			}}
		}},
		"counts from another consumer's cursor": {[]string{"Backlog"}, func(l sqllog.Log, _ *sql.DB) fault {
			return fault{backlog: func(ctx context.Context, c log.Cursor, limit int) (int, time.Time, error) {
				return l.Backlog(ctx, log.Cursor{Consumer: "group", Lane: c.Lane}, 1, limit)
			}}
		}},
		"counts from the beginning": {[]string{"Backlog"}, func(l sqllog.Log, _ *sql.DB) fault {
			return fault{backlog: func(ctx context.Context, c log.Cursor, limit int) (int, time.Time, error) {
				return l.Backlog(ctx, log.Cursor{Consumer: "nobody", Lane: c.Lane}, 1, limit)
			}}
		}},
	}
	var mutants []conformance.Mutant[*logtest.Fixture]
	for name, d := range defects {
		hangs := name == "leases never run out" // its cases wait for one to become free
		mutants = append(mutants, conformance.Mutant[*logtest.Fixture]{Name: "has this defect: " + name, Cases: d.cases, Hangs: hangs, Open: func(t *testing.T) *logtest.Fixture {
			log, db := open(t)
			f := d.make(log, db)
			f.Log = log
			return &logtest.Fixture{Log: f, DB: db}
		}})
	}
	suite := logtest.Suite()
	suite.Limit = 2 * time.Second // not for long
	suite.Mutants(t, mutants)
}

const short = 50 * time.Millisecond

// on returns the transaction that ctx carries, or the pool.
func on(ctx context.Context, db *sql.DB) interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
} {
	if tx, ok := sqltx.On(ctx, db); ok {
		return tx
	}
	return db
}
