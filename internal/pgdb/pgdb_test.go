package pgdb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOpenErrors(t *testing.T) {
	for _, url := range []string{"", "postgres://u:hunter2@host:port/db", "postgres://u:hunter2@h/db?sslmode=perhaps"} {
		db, err := pgdb.Open(url)
		if err == nil {
			db.Close()
			t.Errorf("Open(%q) accepted it", url)
			continue
		}
		if !strings.HasPrefix(err.Error(), "pgdb: ") || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "hunter2") {
			t.Errorf("Open(%q): %v; want a pgdb error without the password", url, err)
		}
	}
}

func TestClassify(t *testing.T) {
	state := func(code string) error { return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code}) }
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	_, web := http.Get("http://127.0.0.1:1/") //nolint:bodyclose // it fails: nothing listens on port 1
	for _, tc := range []struct {
		name string
		err  error
		want fault.Class
	}{
		{"connection failure", state("08006"), fault.Infrastructure},
		{"admin shutdown", state("57P01"), fault.Infrastructure},
		{"starting up", state("57P03"), fault.Infrastructure},
		{"too many connections", state("53300"), fault.Infrastructure},
		{"disk full", state("53100"), fault.Infrastructure},
		{"io error", state("58030"), fault.Infrastructure},
		{"read only", state("25006"), fault.Infrastructure},
		{"serialization", state("40001"), fault.Transient},
		{"deadlock", state("40P01"), fault.Transient},
		{"lock timeout", state("55P03"), fault.Transient},
		{"statement timeout", state("57014"), fault.Transient},
		{"prepared statement lost by a pooler", state("26000"), fault.Infrastructure},
		{"data", state("22001"), fault.Permanent},
		{"constraint", state("23505"), fault.Permanent},
		{"syntax", state("42601"), fault.Unclassified},
		{"no code", state(""), fault.Unclassified},
		{"bad connection", driver.ErrBadConn, fault.Infrastructure},
		{"connection done", sql.ErrConnDone, fault.Infrastructure},
		{"socket reset", fmt.Errorf("wrapped: %w", reset), fault.Infrastructure},
		{"another service's socket", web, fault.Unclassified},
		{"a deadline of the caller", context.DeadlineExceeded, fault.Unclassified},
		{"cancelled", context.Canceled, fault.Unclassified},
		{"foreign", errors.New("x"), fault.Unclassified},
		{"nil", nil, fault.Unclassified},
	} {
		if got := pgdb.Classify(tc.err); got != tc.want {
			t.Errorf("%s: Classify(%v) = %v, want %v", tc.name, tc.err, got, tc.want)
		}
	}
}

func TestClassifyUnreachable(t *testing.T) {
	db, err := pgdb.Open("postgres://u:hunter2@127.0.0.1:1/db?sslmode=disable")
	require.NoError(t, err)
	defer db.Close()
	err = db.Ping()
	if got := pgdb.Classify(err); got != fault.Infrastructure || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("an unreachable server: %v, class %v; want infrastructure and no password", err, got)
	}
}

func TestClassifyLive(t *testing.T) {
	db, ctx := servicetest.Postgres(t), context.Background()
	_, err := db.Exec(`CREATE TABLE p (id int PRIMARY KEY)`)
	require.NoError(t, err)
	_, err = db.Exec(`INSERT INTO p VALUES (1)`)
	require.NoError(t, err)
	_, err = db.Exec(`INSERT INTO p VALUES (1)`)
	if pgdb.Classify(err) != fault.Permanent || !pgdb.IsUnique(err) {
		t.Errorf("a duplicate: %v, class %v, unique %v", err, pgdb.Classify(err), pgdb.IsUnique(err))
	}
	_, err = db.Exec(`INSERT INTO p VALUES (NULL)`)
	if pgdb.Classify(err) != fault.Permanent || pgdb.IsUnique(err) {
		t.Errorf("a null: %v, class %v, unique %v", err, pgdb.Classify(err), pgdb.IsUnique(err))
	}

	// A second connection ends the backend of the transaction.
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // a test's end
	var pid int
	require.NoError(t, tx.QueryRow(`SELECT pg_backend_pid()`).Scan(&pid))
	if _, err := db.Exec(`SELECT pg_terminate_backend($1, 5000)`, pid); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first sees the server's last words or the closed socket, the second a closed connection
		_, err = tx.Exec(`INSERT INTO p VALUES (2)`)
		if got := pgdb.Classify(err); got != fault.Infrastructure {
			t.Errorf("a statement on an ended backend: %v (%T), class %v; want infrastructure", err, err, got)
		}
	}
}

func TestTx(t *testing.T) {
	url := servicetest.PostgresURL(t)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `CREATE TABLE n (v int)`)
	require.NoError(t, err)
	tx, err := conn.Begin(ctx)
	require.NoError(t, err)
	assert.NoError(t, sqltx.CheckTx(pgdb.Tx(tx)), "a pgx.Tx is refused")
	res, err := pgdb.Tx(tx).ExecContext(ctx, `INSERT INTO n VALUES ($1), ($2)`, 1, sql.NullInt64{Int64: 2, Valid: true})
	require.NoError(t, err)
	if n, err := res.RowsAffected(); n != 2 || err != nil {
		t.Errorf("RowsAffected = %d, %v; want 2", n, err)
	}
	if _, err := res.LastInsertId(); err == nil {
		t.Error("LastInsertId claims to know one")
	}
	require.NoError(t, tx.Rollback(ctx))
	var n int
	if err := conn.QueryRow(ctx, `SELECT count(*) FROM n`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows after the rollback, %v; the statement did not run inside the transaction", n, err)
	}
}

func TestTxOfNothing(t *testing.T) {
	for name, tx := range map[string]pgx.Tx{"nil": nil, "a nil *pgxpool.Tx": (*pgxpool.Tx)(nil)} {
		if err := sqltx.CheckTx(pgdb.Tx(tx)); !errors.Is(err, sqltx.ErrNoTransaction) {
			t.Errorf("%s: %v, want ErrNoTransaction", name, err)
		}
	}
}

func ExampleOpen() {
	db, err := pgdb.Open("postgres://app:secret@127.0.0.1:5432/app?sslmode=disable") // does not connect
	if err != nil {
		panic(err)
	}
	defer db.Close()
	fmt.Println(db.Stats().MaxOpenConnections)
	// Output: 16
}
