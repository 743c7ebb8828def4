package sqlidempotency_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

var onMySQL = sqlidempotency.Config{Dialect: sqltx.MySQL}

// plain opens the driver as an application would by itself, with other settings than this
// module's.
func plain(t *testing.T, server servicetest.MySQLServer, set func(*mysql.Config)) *sql.DB {
	t.Helper()
	u, err := url.Parse(server.URL(t))
	require.NoError(t, err, "the URL of the server cannot be parsed")
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr, cfg.DBName, cfg.User = "tcp", u.Host, strings.TrimPrefix(u.Path, "/"), u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	set(cfg)
	connector, err := mysql.NewConnector(cfg)
	require.NoError(t, err)
	out := sql.OpenDB(connector)
	t.Cleanup(func() { out.Close() })
	return out
}

// TestMySQLClients runs with all ways in which clients count affected rows, isolate, and send
// parameters.
func TestMySQLClients(t *testing.T) { servicetest.EachMySQL(t, testMySQLClients) }

func testMySQLClients(t *testing.T, server servicetest.MySQLServer) {
	isolation := "transaction_isolation"
	if server.IsMariaDB() {
		isolation = "tx_isolation" // until MariaDB 11.1
	}
	for name, set := range map[string]func(*mysql.Config){
		"changed rows":    func(c *mysql.Config) {},
		"found rows":      func(c *mysql.Config) { c.ClientFoundRows = true },
		"interpolated":    func(c *mysql.Config) { c.InterpolateParams = true },
		"local time":      func(c *mysql.Config) { c.Loc = time.FixedZone("far", 9*3600) },
		"repeatable read": func(c *mysql.Config) { c.Params = map[string]string{isolation: "'REPEATABLE-READ'"} },
		"serializable":    func(c *mysql.Config) { c.Params = map[string]string{isolation: "'SERIALIZABLE'"} },
		"another zone":    func(c *mysql.Config) { c.Params = map[string]string{"time_zone": "'-05:00'"} },
	} {
		t.Run(name, func(t *testing.T) {
			db := plain(t, server, set)
			s := migrated(t, db, onMySQL)
			for _, want := range []bool{true, false} {
				if fresh, err := s.Once(t.Context(), record("stats:1"), nothing); fresh != want || err != nil {
					t.Errorf("Once: %v, %v; want %v", fresh, err, want)
				}
			}
			for _, want := range []int{1, 0} {
				fresh, err := s.OnceBatch(t.Context(), []driver.Record{record("stats:1"), record("stats:2")},
					func(context.Context, []int) error { return nil })
				if len(fresh) != want || err != nil {
					t.Errorf("OnceBatch: %v, %v; want %d new", fresh, err, want)
				}
			}
			if n, err := s.Prune(t.Context(), time.Minute, 10); n != 0 || err != nil {
				t.Errorf("Prune of what is a minute old deleted %d, %v", n, err)
			}
			if n, err := s.Prune(t.Context(), -time.Minute, 10); n != 2 || err != nil {
				t.Errorf("Prune of all deleted %d, %v", n, err)
			}
			leases := newLeases(t, db, sqltx.MySQL)
			c, err := leases.Claim(t.Context(), record("k"), time.Minute)
			if err != nil || c.State != driver.Claimed {
				t.Fatalf("Claim: %v, %v", c.State, err)
			}
			for range 2 {
				assert.NoError(t, leases.Complete(t.Context(), c, []byte("x")), "Complete")
			}
		})
	}
}

// TestRollbackWithManyWaiters: when the first of many transactions rolls back, InnoDB lets all
// waiting ones continue at once, and they deadlock: one survives. The others begin again.
func TestRollbackWithManyWaiters(t *testing.T) { servicetest.EachMySQL(t, testRollbackWithManyWaiters) }

func testRollbackWithManyWaiters(t *testing.T, server servicetest.MySQLServer) {
	const waiters, failures = 12, 4
	db := server.DB(t)
	db.SetMaxOpenConns(waiters + 4)
	s := migrated(t, db, onMySQL)
	var ran, fresh atomic.Int32
	var wg sync.WaitGroup
	_, err := s.Once(t.Context(), record("stats:1"), func(ctx context.Context) error {
		for range waiters {
			wg.Go(func() {
				for {
					ok, err := s.Once(context.WithoutCancel(t.Context()), record("stats:1"), func(context.Context) error {
						if ran.Add(1) <= failures {
							return errFailed
						}
						return nil
					})
					if errors.Is(err, errFailed) {
						continue
					}
					assert.NoError(t, err)
					if ok {
						fresh.Add(1)
					}
					return
				}
			})
		}
		waitForLocks(t, db, waiters)
		return errFailed
	})
	wg.Wait()
	if !errors.Is(err, errFailed) || fresh.Load() != 1 || ran.Load() != failures+1 {
		t.Errorf("%v; %d handlers ran and %d succeeded, want %d and 1", err, ran.Load(), fresh.Load(), failures+1)
	}
}

var errFailed = errors.New("the handler failed")

// waitForLocks returns when that many transactions wait for a lock of this test's database.
func waitForLocks(t *testing.T, db *sql.DB, want int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		var n int
		err := db.QueryRow(`SELECT count(*) FROM information_schema.processlist
			WHERE db = database() AND info LIKE 'INSERT INTO event_handled%' OR db = database() AND info LIKE '-- ? key%'`).Scan(&n)
		if err != nil {
			t.Error(err)
			return
		}
		if n >= want {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("only %d of %d are waiting", n, want)
			return
		}
		<-time.After(2 * time.Millisecond)
	}
}

// deadlockIn makes the transaction of ctx the victim of a deadlock with one on another
// connection, and returns the statement's error.
func deadlockIn(t *testing.T, ctx context.Context, db *sql.DB, tx *sql.Tx) error {
	t.Helper()
	other, err := db.BeginTx(context.WithoutCancel(ctx), nil)
	require.NoError(t, err)
	defer other.Rollback()
	exec := func(tx *sql.Tx, q string) error { _, err := tx.ExecContext(context.WithoutCancel(ctx), q); return err }
	// The other transaction has changed more rows, so InnoDB rolls ours back.
	require.NoError(t, errors.Join(exec(other, `UPDATE accounts SET n = n + 1 WHERE id > 1`), exec(tx, `UPDATE accounts SET n = n + 1 WHERE id = 1`)))
	over := make(chan error, 1)
	go func() { over <- exec(other, `UPDATE accounts SET n = n + 1 WHERE id = 1`) }()
	ours := exec(tx, `UPDATE accounts SET n = n + 1 WHERE id = 2`)
	assert.NoError(t, <-over, "the other transaction was the victim")
	return ours
}

func accounts(t *testing.T, db *sql.DB) {
	t.Helper()
	_, err := db.Exec(`CREATE TABLE accounts (id INT PRIMARY KEY, n INT NOT NULL)`)
	require.NoError(t, err)
	_, err = db.Exec(`INSERT INTO accounts WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < 50) SELECT id, 0 FROM ids`)
	require.NoError(t, err)
}

// TestIgnoredDeadlockIsNoSuccess: a deadlock inside the handler rolls everything back at the
// server, and the session goes on without a transaction. A handler that ignores the error must
// not end as if its key and effect were stored.
func TestIgnoredDeadlockIsNoSuccess(t *testing.T) {
	servicetest.EachMySQL(t, testIgnoredDeadlockIsNoSuccess)
}

func testIgnoredDeadlockIsNoSuccess(t *testing.T, server servicetest.MySQLServer) {
	db := server.DB(t)
	s := migrated(t, db, onMySQL)
	accounts(t, db)
	ignore := func(ctx context.Context) error {
		tx, _ := sqltx.On(ctx, db)
		if err := deadlockIn(t, ctx, db, tx); !mysqldb.IsDeadlock(err) {
			t.Errorf("the statement: %v, want a deadlock", err)
		}
		return nil
	}
	fresh, err := s.Once(t.Context(), record("stats:1"), ignore)
	if fresh || fault.Of(err) != fault.Transient || err == nil || !strings.Contains(err.Error(), "rolled the transaction back") {
		t.Errorf("Once: %v, %v; want a transient error about the rollback", fresh, err)
	}
	news, err := s.OnceBatch(t.Context(), []driver.Record{record("stats:1"), record("stats:2")},
		func(ctx context.Context, _ []int) error { return ignore(ctx) })
	if len(news) != 0 || fault.Of(err) != fault.Transient || err == nil {
		t.Errorf("OnceBatch: %v, %v; want a transient error", news, err)
	}
	if seen, err := s.Seen(t.Context(), "stats:1"); seen || err != nil {
		t.Errorf("key recorded %v, %v", seen, err)
	}
	// A handler that returns the error gets it back unchanged.
	_, err = s.Once(t.Context(), record("stats:1"), func(ctx context.Context) error {
		tx, _ := sqltx.On(ctx, db)
		return deadlockIn(t, ctx, db, tx)
	})
	if !mysqldb.IsDeadlock(err) || strings.HasPrefix(err.Error(), "sqlidempotency") {
		t.Errorf("a handler's deadlock came back as %v", err)
	}
}

// TestDeadlockInOuterTransaction: in a transaction of the caller a deadlock at the key ends the
// whole transaction: the error is transient, and nothing is committed. The caller's sqltx.Do
// begins it again.
func TestDeadlockInOuterTransaction(t *testing.T) {
	servicetest.EachMySQL(t, func(t *testing.T, server servicetest.MySQLServer) {
		t.Run("once", func(t *testing.T) {
			if victims := rivals(t, server, 1); victims == 0 {
				t.Error("no rival ended with a deadlock; want some")
			}
		})
		t.Run("again", func(t *testing.T) {
			assert.EqualValues(t, 0, rivals(t, server, 20), "rivals ended with a deadlock, want none")
		})
	})
}

// rivals lets transactions of the caller wait for one key, and returns how many of them ended
// with a deadlock.
func rivals(t *testing.T, server servicetest.MySQLServer, attempts int) int32 {
	const rivals = 4
	db := server.DB(t)
	s := migrated(t, db, onMySQL)
	accounts(t, db)
	var wg sync.WaitGroup
	var fresh, victims atomic.Int32
	_, err := s.Once(t.Context(), record("stats:1"), func(ctx context.Context) error {
		for i := range rivals {
			wg.Go(func() {
				var ok bool
				err := sqltx.Do(context.WithoutCancel(t.Context()), db, func(ctx context.Context, tx *sql.Tx) error {
					_, err := tx.ExecContext(ctx, `UPDATE accounts SET n = n + 1 WHERE id = ?`, i+1)
					if err == nil {
						ok, err = s.Once(ctx, record("stats:1"), nothing)
					}
					return err
				}, sqltx.Options{Attempts: attempts})
				switch {
				case err == nil && ok:
					fresh.Add(1)
				case err == nil:
				case fault.Of(err) == fault.Transient && mysqldb.IsDeadlock(err):
					victims.Add(1)
				default:
					t.Errorf("a rival ended with %v (%v), want a transient deadlock", err, fault.Of(err))
				}
			})
		}
		waitForLocks(t, db, rivals)
		return errFailed
	})
	wg.Wait()
	if !errors.Is(err, errFailed) || fresh.Load() != 1 {
		t.Errorf("%v; %d were fresh, want 1", err, fresh.Load())
	}
	var n int32
	if err := db.QueryRow(`SELECT sum(n) FROM accounts`).Scan(&n); err != nil || n != rivals-victims.Load() {
		t.Errorf("%d updates are committed, %v; want those of the %d that were no victims", n, err, rivals-victims.Load())
	}
	return victims.Load()
}

// TestLongInformationIsCut: informational columns are bounded on MySQL; longer text is
// truncated, and never prevents an event from being handled.
func TestLongInformationIsCut(t *testing.T) { servicetest.EachMySQL(t, testLongInformationIsCut) }

func testLongInformationIsCut(t *testing.T, server servicetest.MySQLServer) {
	db := server.DB(t)
	s := migrated(t, db, onMySQL)
	r := record("stats:1")
	r.Group, r.EventType, r.AggregateID = strings.Repeat("g", 300), strings.Repeat("한", 100), strings.Repeat("a", 70_000)
	if fresh, err := s.Once(t.Context(), r, nothing); !fresh || err != nil {
		t.Fatalf("Once: %v, %v", fresh, err)
	}
	r.Key = "stats:2"
	if fresh, err := s.OnceBatch(t.Context(), []driver.Record{r}, func(context.Context, []int) error { return nil }); len(fresh) != 1 || err != nil {
		t.Fatalf("OnceBatch: %v, %v", fresh, err)
	}
	rows, err := db.Query(`SELECT consumer_group, event_type, aggregate_id FROM event_handled`)
	require.NoError(t, err)
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var group, typ, aggregate string
		require.NoError(t, rows.Scan(&group, &typ, &aggregate))
		if group != strings.Repeat("g", 255) || typ != strings.Repeat("한", 85) || aggregate != strings.Repeat("a", 255) {
			t.Errorf("stored %d, %d and %d bytes", len(group), len(typ), len(aggregate))
		}
	}
	if err := rows.Err(); err != nil || n != 2 {
		t.Errorf("%d rows, %v", n, err)
	}
}
