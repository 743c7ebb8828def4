package mysqllog_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/mysqllog"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

func pool(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := mysqldb.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func TestNewRejects(t *testing.T) {
	if _, err := mysqllog.New(nil, tables); err == nil {
		t.Error("New accepted no pool")
	}
	if _, err := mysqllog.New(&sql.DB{}, sqllog.Tables{Messages: "a; DROP"}); err == nil {
		t.Error("New accepted a table name that is none")
	}
}

func TestAppendLimits(t *testing.T) { servicetest.EachMySQL(t, testAppendLimits) }

func testAppendLimits(t *testing.T, _ servicetest.MySQLServer) {
	l, db := open(t)
	var packet int
	require.NoError(t, db.QueryRow(`SELECT @@max_allowed_packet`).Scan(&packet))
	tx := begin(t, db)
	many := make([]log.Entry, 65535/6+1)
	for what, bad := range map[string][]log.Entry{
		"one entry too many":                     many,
		"a long key":                             {{Topic: "t", MessageID: "1", Key: strings.Repeat("é", 1001)}},
		"a long topic":                           {{Topic: strings.Repeat("t", 256), MessageID: "1"}},
		"a broken id":                            {{Topic: "t", MessageID: "\xff"}},
		"too many labels":                        {{Topic: "t", MessageID: "1", Labels: []string{"x"}}},
		"a payload that is larger than a packet": {{Topic: "t", MessageID: "1", Payload: make([]byte, packet+1)}},
	} {
		err := l.Append(t.Context(), tx, bad)
		if got := fault.Of(err, mysqldb.Classify); got != fault.Permanent || !strings.HasPrefix(err.Error(), "mysqllog: append: ") {
			t.Errorf("%s: %v of class %v, want it refused for good", what, err, got)
		}
	}
	// All of them together may be larger than a packet; the most that fit are one statement.
	for i := range many {
		many[i] = log.Entry{Lane: 2, Topic: "t", MessageID: fmt.Sprint(i), Key: strings.Repeat("é", 1000)}
	}
	require.NoError(t, l.Append(t.Context(), tx, many[1:]), "as many as fit")
	commit(t, tx)
	n, _, err := l.Backlog(t.Context(), log.Cursor{Consumer: "c", Lane: 2}, 1, len(many))
	if err != nil || n != len(many)-1 {
		t.Errorf("the lane has %d entries (%v), want %d", n, err, len(many)-1)
	}
}

// plain opens a pool as an application may have it: at REPEATABLE READ, without time parsing, in
// another time zone, with two round trips per statement, and counting changed rows instead of
// matched rows.
func plain(t testing.TB, url string) *sql.DB {
	t.Helper()
	user, address, _ := strings.Cut(strings.TrimPrefix(url, "mysql://"), "@")
	host, name, _ := strings.Cut(address, "/")
	db, err := sql.Open("mysql", user+"@tcp("+host+")/"+name+"?time_zone=%27%2B09%3A00%27")
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func TestPlainPool(t *testing.T) { servicetest.EachMySQL(t, testPlainPool) }

func testPlainPool(t *testing.T, server servicetest.MySQLServer) {
	db := plain(t, server.URL(t))
	db.SetMaxOpenConns(1)
	lg, _ := openWith(t, tables, db)
	before := time.Now().Add(-time.Minute)
	add(t, lg, db, 1, "a", "b")
	page, next, err := lg.Read(t.Context(), 1, log.Position{}, 10)
	if err != nil || len(page) != 2 || page[0].CreatedAt.Before(before) || time.Until(page[0].CreatedAt) > time.Minute {
		t.Fatalf("read %v, %v; want two entries of this minute", page, err)
	}
	if _, oldest, err := lg.Backlog(t.Context(), log.Cursor{Consumer: "c", Lane: 1}, 1, 10); err != nil || oldest.Before(before) {
		t.Errorf("the oldest was appended at %v, %v", oldest, err)
	}
	// Two statements in one microsecond change nothing except their count.
	_, err = db.Exec(`SET timestamp = 1700000000.123456`)
	require.NoError(t, err)
	l, err := lg.Lease(t.Context(), log.Cursor{Consumer: "c", Lane: 1}, "me", time.Minute)
	require.NoError(t, err)
	for range 2 {
		assert.NoError(t, errors.Join(lg.Renew(t.Context(), time.Minute, l), lg.Advance(t.Context(), l, next, time.Minute)), "the same again")
		l.Position = next
	}
	if again, err := lg.Lease(t.Context(), l.Cursor, "me", time.Minute); err != nil || again.Position.ID != next.ID || again.Token <= l.Token {
		t.Errorf("leased again: %+v, %v", again, err)
	}
}

func TestRebase(t *testing.T) { servicetest.EachMySQL(t, testRebase) }

func testRebase(t *testing.T, _ servicetest.MySQLServer) {
	l, db := open(t)
	add(t, l, db, 1, "old 1", "old 2")
	_, err := db.Exec(`UPDATE log_messages SET created_at = created_at - INTERVAL 1 HOUR`)
	require.NoError(t, err)
	add(t, l, db, 1, "new 1", "new 2")
	c := log.Cursor{Consumer: "c", Lane: 1}
	for _, read := range []bool{false, true} { // rows without places are read later
		if read {
			want(t, l, 1, log.Position{}, "old 1", "old 2", "new 1", "new 2")
		}
		for _, tc := range []struct {
			since time.Time
			want  int
		}{
			{time.Now().Add(-2 * time.Hour), 4},
			{time.Now().Add(-time.Minute), 2},
			{time.Now().Add(time.Minute), 0},
		} {
			held, err := l.Lease(t.Context(), c, "me", time.Minute)
			require.NoError(t, err)
			require.NoError(t, l.Rebase(t.Context(), c, tc.since))
			assert.ErrorIs(t, l.Renew(t.Context(), time.Minute, held), log.ErrLeaseLost, "renewing a rebased cursor's lease")
			if n, _, err := l.Backlog(t.Context(), c, 1, 10); err != nil || n != tc.want {
				t.Errorf("rebased to %v (read before: %v): the backlog is %d (%v), want %d", tc.since, read, n, err, tc.want)
			}
		}
	}
}

// The tables, copied into another database, are a log with valid cursors.
func TestCopyGoesOn(t *testing.T) { servicetest.EachMySQL(t, testCopyGoesOn) }

func testCopyGoesOn(t *testing.T, _ servicetest.MySQLServer) {
	lg, db := open(t)
	add(t, lg, db, 1, "a", "b", "c")
	c := log.Cursor{Consumer: "c", Lane: 1}
	l, err := lg.Lease(t.Context(), c, "me", time.Minute)
	require.NoError(t, err)
	page, _, err := lg.Read(t.Context(), 1, l.Position, 2)
	require.NoError(t, err)
	require.NoError(t, errors.Join(lg.Advance(t.Context(), l, page[1].Position, time.Minute), lg.Release(t.Context(), l)))
	add(t, lg, db, 1, "d")
	var from string
	require.NoError(t, db.QueryRow(`SELECT DATABASE()`).Scan(&from))
	copied, other := open(t)
	for _, table := range []string{"log_messages", "log_messages_lanes", "log_cursors"} {
		_, err := other.Exec(`INSERT INTO ` + table + ` SELECT * FROM ` + from + `.` + table)
		require.NoError(t, err)
	}
	l, err = copied.Lease(t.Context(), c, "elsewhere", time.Minute)
	require.NoError(t, err)
	want(t, copied, 1, l.Position, "c", "d")
}

func TestPrintedSchemaIsTheLog(t *testing.T) { servicetest.EachMySQL(t, testPrintedSchemaIsTheLog) }

func testPrintedSchemaIsTheLog(t *testing.T, _ servicetest.MySQLServer) {
	l, err := mysqllog.New(&sql.DB{}, tables)
	require.NoError(t, err)
	set, err := l.Migrations()
	require.NoError(t, err)
	var script strings.Builder
	require.NoError(t, set.Print(&script))
	for _, want := range []string{"log_messages", "log_messages_lanes", "log_cursors"} {
		assert.Containsf(t, script.String(), "CREATE TABLE IF NOT EXISTS "+want+" (", "the printed schema lacks %q", want)
	}
	assert.Equal(t, "millrace_test_log_version", set.Table(), "the version table")
}

func ExampleNew() {
	ctx := context.Background()
	db, err := mysqldb.Open("mysql://app:secret@127.0.0.1:3306/app") // does not connect
	if err != nil {
		panic(err)
	}
	defer db.Close()
	l, err := mysqllog.New(db, sqllog.Tables{Messages: "mail_messages", Cursors: "mail_cursors", Package: "mail"})
	if err != nil {
		panic(err)
	}
	schema, err := l.Migrations()
	if err != nil {
		panic(err)
	}
	fmt.Println(schema.Table())
	// Code of a writer and a reader:
	_ = func() error {
		return sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
			return l.Append(ctx, tx, []log.Entry{{Topic: "mail", MessageID: "1", Payload: []byte("hello")}})
		})
	}
	_ = func() error {
		me, err := l.Lease(ctx, log.Cursor{Consumer: "postman"}, "me", 10*time.Second)
		if err != nil {
			return err
		}
		_, next, err := l.Read(ctx, me.Lane, me.Position, 100)
		if err != nil {
			return err
		}
		return l.Advance(ctx, me, next, 10*time.Second)
	}
	// Output: millrace_mail_log_version
}
