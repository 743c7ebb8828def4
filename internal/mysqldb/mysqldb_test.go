package mysqldb_test

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/certtest"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOpenErrors(t *testing.T) {
	for _, url := range []string{
		"", "mysql://u:hunter2@host:port/db", "mysql://u:hunter2@h", "mysql://u:hunter2@h/", "mysql://u:hunter2@h/a/b",
		"mysql://u:hunter2@/db", "postgres://u:hunter2@h/db", "u:hunter2@tcp(h)/db", "mysql://u:hunter2@h/db?%zz",
		"mysql://u:hunter2@h/db?timeout=soon", "mysql://u:hunter2@h/db?tls=perhaps", "mysql://u:hunter2@h/db?tls-ca=/nowhere/ca.pem",
	} {
		db, err := mysqldb.Open(url)
		if err == nil {
			db.Close()
			t.Errorf("Open(%q) accepted it", url)
			continue
		}
		if !strings.HasPrefix(err.Error(), "mysqldb: ") || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "hunter2") {
			t.Errorf("Open(%q): %v; want a mysqldb error without the password", url, err)
		}
	}
}

func TestTLS(t *testing.T) {
	c := certtest.New(t, "127.0.0.1")
	ca, cert, key := c.Cert, c.Cert, c.Key
	for params, want := range map[string]string{
		"tls=true":                                       "",
		"tls-ca=" + ca:                                   "",
		"tls=skip-verify&tls-ca=" + ca:                   "",
		"tls-cert=" + cert + "&tls-key=" + key:           "",
		"tls-ca=" + key:                                  "holds no certificate",
		"tls-cert=" + cert:                               "tls-cert and tls-key",
		"tls=preferred&tls-ca=" + ca:                     "does not go with",
		"tls-cert=" + cert + "&tls-key=/nowhere/key.pem": "tls-cert and tls-key",
	} {
		db, err := mysqldb.Open("mysql://u@127.0.0.1:1/db?" + params)
		if err == nil {
			db.Close()
		}
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", params, err, want)
		}
	}
	// The client sends nothing unencrypted to a server without TLS (MariaDB), and does not
	// connect to one with a self-made certificate (MySQL).
	servicetest.EachMySQL(t, func(t *testing.T, server servicetest.MySQLServer) {
		db, err := mysqldb.Open(server.URL(t) + "?tls-ca=" + ca)
		require.NoError(t, err)
		defer db.Close()
		assert.Error(t, db.Ping(), "a server that cannot show the authority's certificate was accepted")
	})
}

func TestClassify(t *testing.T) {
	number := func(n uint16, state string) error {
		e := &mysql.MySQLError{Number: n}
		copy(e.SQLState[:], state)
		return fmt.Errorf("wrapped: %w", e)
	}
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	_, web := http.Get("http://127.0.0.1:1/") //nolint:bodyclose // it fails: nothing listens on port 1
	for _, tc := range []struct {
		name string
		err  error
		want fault.Class
	}{
		{"too many connections", number(1040, "08004"), fault.Infrastructure},
		{"shutdown", number(1053, "08S01"), fault.Infrastructure},
		{"disk full", number(1021, "HY000"), fault.Infrastructure},
		{"read only", number(1290, "HY000"), fault.Infrastructure},
		{"access denied", number(1045, "28000"), fault.Infrastructure},
		{"killed", number(1927, "70100"), fault.Infrastructure},
		{"offline mode of MySQL", number(3032, "HY000"), fault.Infrastructure},
		{"a locked account of MySQL", number(3118, "HY000"), fault.Infrastructure},
		{"gone away", number(2006, "HY000"), fault.Infrastructure},
		{"no TLS where the server wants it", number(3159, "HY000"), fault.Infrastructure},
		{"a certificate that is not trusted", &tls.CertificateVerificationError{Err: errors.New("expired")}, fault.Infrastructure},
		{"another connection error", number(1999, "08S01"), fault.Infrastructure},
		{"deadlock", number(1213, "40001"), fault.Transient},
		{"lock wait", number(1205, "HY000"), fault.Transient},
		{"statement timeout", number(1969, "70100"), fault.Transient},
		{"another rollback", number(1999, "40000"), fault.Transient},
		{"duplicate", number(1062, "23000"), fault.Permanent},
		{"too long", number(1406, "22001"), fault.Permanent},
		{"no parent row", number(1452, "23000"), fault.Permanent},
		{"check of MySQL", number(3819, "HY000"), fault.Permanent},
		{"check of MariaDB", number(4025, "23000"), fault.Permanent},
		{"another data error", number(1999, "22999"), fault.Permanent},
		{"packet", mysql.ErrPktTooLarge, fault.Permanent},
		{"syntax", number(1064, "42000"), fault.Unclassified},
		{"no state", number(1999, ""), fault.Unclassified},
		{"bad connection", driver.ErrBadConn, fault.Infrastructure},
		{"invalid connection", mysql.ErrInvalidConn, fault.Infrastructure},
		{"connection done", sql.ErrConnDone, fault.Infrastructure},
		{"socket reset", fmt.Errorf("wrapped: %w", reset), fault.Infrastructure},
		{"another service's socket", web, fault.Unclassified},
		{"a deadline of the caller", context.DeadlineExceeded, fault.Unclassified},
		{"cancelled", context.Canceled, fault.Unclassified},
		{"foreign", errors.New("x"), fault.Unclassified},
		{"nil", nil, fault.Unclassified},
	} {
		if got := mysqldb.Classify(tc.err); got != tc.want {
			t.Errorf("%s: Classify(%v) = %v, want %v", tc.name, tc.err, got, tc.want)
		}
	}
	if !mysqldb.IsDeadlock(number(1213, "40001")) || mysqldb.IsDeadlock(number(1205, "HY000")) {
		t.Error("IsDeadlock does not tell a deadlock from a lock wait")
	}
}

func TestClassifyUnreachable(t *testing.T) {
	db, err := mysqldb.Open("mysql://u:hunter2@127.0.0.1:1/db")
	require.NoError(t, err)
	defer db.Close()
	err = db.Ping()
	if got := mysqldb.Classify(err); got != fault.Infrastructure || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("an unreachable server: %v, class %v; want infrastructure and no password", err, got)
	}
}

func TestSession(t *testing.T) { servicetest.EachMySQL(t, testSession) }

func testSession(t *testing.T, server servicetest.MySQLServer) {
	url := server.URL(t)
	db, err := mysqldb.Open(url)
	require.NoError(t, err)
	defer db.Close()
	exec(t, db, `CREATE TABLE s (id int PRIMARY KEY, name varchar(3) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)`)
	var hours int
	var equal bool
	if err := db.QueryRow(`SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW()), 'a' = 'A'`).Scan(&hours, &equal); err != nil || hours != 0 || equal {
		t.Errorf("now is %d minutes from UTC, 'a' = 'A' is %v (%v); want 0, false", hours, equal, err)
	}
	if _, err := db.Exec(`INSERT INTO s VALUES (1, 'long')`); mysqldb.Classify(err) != fault.Permanent {
		t.Errorf("a value that does not fit: %v, want it refused for good", err)
	}
	// A statement commits, also where the server's default is that it does not.
	manual, err := mysqldb.Open(url + "?autocommit=0")
	require.NoError(t, err)
	defer manual.Close()
	exec(t, manual, `INSERT INTO s VALUES (1, 'a')`)

	// A second read in one transaction sees rows that were committed meanwhile.
	tx, err := db.Begin()
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // a test's end
	for want := 1; want <= 2; want++ {
		var n int
		if err := tx.QueryRow(`SELECT count(*) FROM s`).Scan(&n); err != nil || n != want {
			t.Errorf("the transaction sees %d rows (%v), want %d", n, err, want)
		}
		if want == 1 {
			exec(t, db, `INSERT INTO s VALUES (2, 'b')`)
		}
	}
}

func TestFoundRows(t *testing.T) { servicetest.EachMySQL(t, testFoundRows) }

func testFoundRows(t *testing.T, server servicetest.MySQLServer) {
	db := server.DB(t)
	exec(t, db, `CREATE TABLE f (v int)`)
	exec(t, db, `INSERT INTO f VALUES (1), (2)`)
	res, err := db.Exec(`UPDATE f SET v = 2`)
	require.NoError(t, err)
	if n, err := res.RowsAffected(); n != 2 || err != nil {
		t.Errorf("an update of 2 rows, one of them unchanged, counts %d (%v)", n, err)
	}
}

func TestPacketTooLarge(t *testing.T) { servicetest.EachMySQL(t, testPacketTooLarge) }

func testPacketTooLarge(t *testing.T, server servicetest.MySQLServer) {
	db := server.DB(t)
	var limit int
	require.NoError(t, db.QueryRow(`SELECT @@max_allowed_packet`).Scan(&limit))
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), `SELECT LENGTH(?)`, make([]byte, 2*limit))
	if got := mysqldb.Classify(err); got != fault.Permanent {
		t.Errorf("a value of twice the packet (%d bytes): %v, class %v; want it refused for good", limit, err, got)
	}
	assert.NoError(t, conn.PingContext(t.Context()), "the connection afterwards")
}

func TestClassifyLive(t *testing.T) { servicetest.EachMySQL(t, testClassifyLive) }

func testClassifyLive(t *testing.T, server servicetest.MySQLServer) {
	db, ctx := server.DB(t), context.Background()
	exec(t, db, `CREATE TABLE p (id int PRIMARY KEY)`)
	exec(t, db, `INSERT INTO p VALUES (1)`)
	_, err := db.Exec(`INSERT INTO p VALUES (1)`)
	if mysqldb.Classify(err) != fault.Permanent || !mysqldb.IsUnique(err) {
		t.Errorf("a duplicate: %v, class %v, unique %v", err, mysqldb.Classify(err), mysqldb.IsUnique(err))
	}
	_, err = db.Exec(`INSERT INTO p VALUES (NULL)`)
	if mysqldb.Classify(err) != fault.Permanent || mysqldb.IsUnique(err) {
		t.Errorf("a null: %v, class %v, unique %v", err, mysqldb.Classify(err), mysqldb.IsUnique(err))
	}

	// Each server has a syntax of its own for a statement timeout.
	slow := `SELECT /*+ MAX_EXECUTION_TIME(20) */ count(*) FROM information_schema.columns a, information_schema.columns b, information_schema.columns c`
	if server.IsMariaDB() {
		slow = `SET STATEMENT max_statement_time = 0.02 FOR SELECT SLEEP(60)`
	}
	if _, err = db.Exec(slow); mysqldb.Classify(err) != fault.Transient {
		t.Errorf("a statement that takes too long: %v, class %v; want transient", err, mysqldb.Classify(err))
	}
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // a test's end
	if _, err := tx.Exec(`UPDATE p SET id = 3`); err != nil {
		t.Fatal(err)
	}
	if _, err = db.Exec(`SELECT id FROM p FOR UPDATE NOWAIT`); mysqldb.Classify(err) != fault.Transient {
		t.Errorf("a row that is locked: %v, class %v; want transient", err, mysqldb.Classify(err))
	}

	// A second connection ends the session of the transaction.
	var id int
	require.NoError(t, tx.QueryRow(`SELECT CONNECTION_ID()`).Scan(&id))
	exec(t, db, fmt.Sprint(`KILL `, id))
	for range 2 { // the first sees the server's last words or the closed socket, the second a closed connection
		_, err = tx.Exec(`INSERT INTO p VALUES (2)`)
		if got := mysqldb.Classify(err); got != fault.Infrastructure {
			t.Errorf("a statement on an ended session: %v (%T), class %v; want infrastructure", err, err, got)
		}
	}
}

func exec(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	_, err := db.Exec(query)
	require.NoError(t, err, "%s", query)
}

func ExampleOpen() {
	db, err := mysqldb.Open("mysql://app:secret@127.0.0.1:3306/app") // does not connect
	if err != nil {
		panic(err)
	}
	defer db.Close()
	fmt.Println(db.Stats().MaxOpenConnections)
	// Output: 16
}
