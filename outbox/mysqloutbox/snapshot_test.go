package mysqloutbox_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
)

func eachKind(t *testing.T, db *sql.DB, look func(kind string, s driver.Snapshotter)) {
	t.Helper()
	cursor, err := mysqloutbox.New(db, mysqloutbox.Config{})
	require.NoError(t, err)
	status, err := mysqloutbox.New(db, mysqloutbox.Config{Status: true})
	require.NoError(t, err)
	look("cursor", cursor.(driver.Snapshotter))
	look("status", status.(driver.Snapshotter))
}

// TestOldestSnapshot: the oldest open transaction of the server is returned with its
// connection, and in UTC regardless of the session's time zone. Transactions of other tests
// end, so that this test's transaction becomes the oldest.
func TestOldestSnapshot(t *testing.T) { servicetest.EachMySQL(t, testOldestSnapshot) }

func testOldestSnapshot(t *testing.T, server servicetest.MySQLServer) {
	raw := server.URL(t)
	holders, err := mysqldb.Open(raw)
	require.NoError(t, err)
	defer holders.Close()
	tx, err := holders.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // nothing was written
	var thread int
	_, err = tx.ExecContext(t.Context(), `CREATE TEMPORARY TABLE held (n INT) ENGINE = InnoDB`)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), `INSERT INTO held VALUES (1)`)
	require.NoError(t, err)
	require.NoError(t, tx.QueryRowContext(t.Context(), `SELECT CONNECTION_ID()`).Scan(&thread))
	began := time.Now()
	db, err := mysqldb.Open(raw + "?time_zone=" + url.QueryEscape("'+05:30'"))
	require.NoError(t, err)
	defer db.Close()
	mine := fmt.Sprintf("connection %d of ", thread)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	eachKind(t, db, func(kind string, s driver.Snapshotter) {
		for {
			found, err := s.OldestSnapshot(ctx)
			require.NoError(t, err)
			// The server counts in seconds.
			if least := time.Since(began) - 2*time.Second; found.Age < least || found.Holder == "" {
				t.Fatalf("%s: the oldest is %+v, and a transaction is open for %v", kind, found, time.Since(began))
			}
			if strings.HasPrefix(found.Holder, mine) {
				if most := time.Since(began) + 3*time.Second; found.Age > most {
					t.Errorf("%s: the oldest is %+v, and it began %v ago", kind, found, time.Since(began))
				}
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("%s: %s is never the oldest: %+v", kind, mine, found)
			}
		}
	})
}

// Without the PROCESS privilege the answer says so.
func TestOldestSnapshotHidden(t *testing.T) { servicetest.EachMySQL(t, testOldestSnapshotHidden) }

func testOldestSnapshotHidden(t *testing.T, server servicetest.MySQLServer) {
	raw := server.URL(t)
	admin, err := mysqldb.Open(raw)
	require.NoError(t, err)
	defer admin.Close()
	exec := func(statement string) {
		t.Helper()
		_, err := admin.ExecContext(context.Background(), statement)
		require.NoError(t, err, "%s", statement)
	}
	u, err := url.Parse(raw)
	require.NoError(t, err)
	name := "u_" + strings.ToLower(rand.Text())
	exec(`CREATE USER '` + name + `'@'%' IDENTIFIED BY 'a1B2c3D4e5'`)
	defer exec(`DROP USER '` + name + `'@'%'`)
	exec("GRANT SELECT ON `" + strings.TrimPrefix(u.Path, "/") + "`.* TO '" + name + "'@'%'")
	u.User = url.UserPassword(name, "a1B2c3D4e5")
	db, err := mysqldb.Open(u.String())
	require.NoError(t, err)
	defer db.Close()
	eachKind(t, db, func(kind string, s driver.Snapshotter) {
		found, err := s.OldestSnapshot(t.Context())
		if err != nil || found.Age != 0 || !strings.Contains(found.Holder, "GRANT PROCESS") {
			t.Errorf("%s: without the right it is %+v, %v", kind, found, err)
		}
	})
}
