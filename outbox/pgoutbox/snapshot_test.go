package pgoutbox_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

// ownDatabase creates a database in which only this test has sessions. The returned function
// opens a pool there, with further settings.
func ownDatabase(t *testing.T) func(settings ...string) *sql.DB {
	t.Helper()
	raw := servicetest.PostgresURL(t)
	admin, err := pgdb.Open(raw)
	require.NoError(t, err)
	name := "own_" + strings.ToLower(rand.Text())
	must(t, admin, `CREATE DATABASE `+name)
	t.Cleanup(func() {
		must(t, admin, `DROP DATABASE `+name+` WITH (FORCE)`)
		admin.Close()
	})
	u, err := url.Parse(raw)
	require.NoError(t, err)
	return func(settings ...string) *sql.DB {
		t.Helper()
		at, q := *u, url.Values{}
		at.Path = "/" + name
		q.Set("sslmode", u.Query().Get("sslmode"))
		for i := 0; i < len(settings); i += 2 {
			q.Set(settings[i], settings[i+1])
		}
		at.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
		db, err := pgdb.Open(at.String())
		require.NoError(t, err)
		t.Cleanup(func() { db.Close() })
		return db
	}
}

func must(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	_, err := db.ExecContext(context.Background(), statement)
	require.NoError(t, err, "%s", statement)
}

// eachKind runs look with both stores over a pool.
func eachKind(t *testing.T, db *sql.DB, look func(kind string, s driver.Snapshotter)) {
	t.Helper()
	cursor, err := pgoutbox.New(db, pgoutbox.Config{})
	require.NoError(t, err)
	status, err := pgoutbox.New(db, pgoutbox.Config{Status: true})
	require.NoError(t, err)
	look("cursor", cursor.(driver.Snapshotter))
	look("status", status.(driver.Snapshotter))
}

func oldest(t *testing.T, s driver.Snapshotter) driver.Snapshot {
	t.Helper()
	found, err := s.OldestSnapshot(t.Context())
	require.NoError(t, err)
	return found
}

// TestOldestSnapshot: a session that holds a snapshot is named with its age until the session
// ends. So is a session that holds no snapshot but has written, because it holds back as much.
func TestOldestSnapshot(t *testing.T) {
	open := ownDatabase(t)
	db, holders := open(), open("application_name", "nightly report")
	must(t, db, `CREATE TABLE written (n integer)`)
	eachKind(t, db, func(kind string, s driver.Snapshotter) {
		if found := oldest(t, s); found != (driver.Snapshot{}) {
			t.Fatalf("%s: on an idle database the oldest is %+v", kind, found)
		}
		for what, begin := range map[string]string{
			"a snapshot": `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM written`,
			"a write":    `INSERT INTO written VALUES (1)`,
		} {
			tx, err := holders.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			for statement := range strings.SplitSeq(begin, ";") {
				_, err := tx.ExecContext(t.Context(), statement)
				require.NoError(t, err)
			}
			first := oldest(t, s)
			if first.Age <= 0 || first.Age > time.Minute || !strings.Contains(first.Holder, "nightly report") || !strings.Contains(first.Holder, "idle in transaction") {
				t.Errorf("%s: with %s the oldest is %+v", kind, what, first)
			}
			if second := oldest(t, s); second.Age <= first.Age || second.Holder != first.Holder {
				t.Errorf("%s: with %s, after %+v it is %+v", kind, what, first, second)
			}
			require.NoError(t, tx.Rollback())
			if found := oldest(t, s); found != (driver.Snapshot{}) {
				t.Errorf("%s: after %s was given up the oldest is %+v", kind, what, found)
			}
		}
	})
}

// TestOldestSnapshotOfAReplica: the server has no date for a snapshot that a replica holds
// back; its age is how long the store has seen the same xmin. A view of the test replaces the
// server's view.
func TestOldestSnapshotOfAReplica(t *testing.T) {
	open := ownDatabase(t)
	admin := open()
	must(t, admin, `CREATE SCHEMA fake`)
	slot := func(xmin, more string) {
		t.Helper()
		must(t, admin, `CREATE OR REPLACE VIEW fake.pg_replication_slots AS
			SELECT 'standby'::name AS slot_name, false AS active, NULL::integer AS active_pid, '`+xmin+`'::xid AS xmin`+more)
	}
	slot("777", "")
	db := open("search_path", "fake,pg_catalog")
	eachKind(t, db, func(kind string, s driver.Snapshotter) {
		if found := oldest(t, s); found.Age != 0 || found.Holder != "replication slot 'standby', read by nothing" {
			t.Errorf("%s: at first it is %+v", kind, found)
		}
		aged := oldest(t, s)
		if aged.Age <= 0 || aged.Age > time.Minute {
			t.Errorf("%s: then it is %+v", kind, aged)
		}
		slot("778", "")
		if found := oldest(t, s); found.Age != 0 {
			t.Errorf("%s: a slot that moved on is %+v", kind, found)
		}
		slot("777", "")
	})
	// PostgreSQL 17 shows since when a slot has had no reader.
	slot("777", ", now() - interval '3 hours' AS inactive_since")
	eachKind(t, open("search_path", "fake,pg_catalog"), func(kind string, s driver.Snapshotter) {
		if found := oldest(t, s); found.Age < 3*time.Hour || found.Age > 4*time.Hour {
			t.Errorf("%s: a slot without a reader for 3 h is %+v", kind, found)
		}
	})
}

// Without the right to see other users' sessions the answer says so.
func TestOldestSnapshotHidden(t *testing.T) {
	open := ownDatabase(t)
	admin := open()
	role := "r_" + strings.ToLower(rand.Text())
	must(t, admin, `CREATE ROLE `+role)
	t.Cleanup(func() { must(t, admin, `DROP ROLE `+role) })
	tx, err := open().BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // nothing was written
	_, err = tx.ExecContext(t.Context(), `SELECT count(*) FROM pg_class`)
	require.NoError(t, err)
	eachKind(t, open("options", "-c role="+role), func(kind string, s driver.Snapshotter) {
		if found := oldest(t, s); found.Age != 0 || !strings.Contains(found.Holder, "GRANT pg_read_all_stats") {
			t.Errorf("%s: without the right it is %+v", kind, found)
		}
	})
	must(t, admin, `GRANT pg_read_all_stats TO `+role)
	eachKind(t, open("options", "-c role="+role), func(kind string, s driver.Snapshotter) {
		if found := oldest(t, s); found.Age <= 0 || strings.Contains(found.Holder, "hidden") {
			t.Errorf("%s: with the right it is %+v", kind, found)
		}
	})
}
