package pgdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/millrace-go/millrace/internal/rawurl"
	"github.com/millrace-go/millrace/internal/tlshint"
	"github.com/millrace-go/millrace/sqltx"
)

// Open returns a pool on the database of the URL (postgres://user:password@host:port/name?…) or
// the libpq keyword string. It does not connect. The pool holds at most 16 connections, idle
// ones for 5 minutes; you can change that on the result. The caller closes it.
func Open(url string) (*sql.DB, error) {
	if url == "" {
		return nil, errors.New("pgdb: the URL is empty; give one like postgres://user:password@host:5432/name")
	}
	if strings.Contains(url, "://") {
		if _, err := rawurl.Parse(url); err != nil {
			return nil, fmt.Errorf("pgdb: %w", err)
		}
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		// The fields of this error contain the password, so it is not wrapped.
		return nil, fmt.Errorf("pgdb: %s", rawurl.Hide(err, url).Error()) //nolint:errorlint // on purpose: do not hand the raw URL on
	}
	db := sql.OpenDB(connector{stdlib.GetConnector(*cfg), net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port))), cfg.TLSConfig == nil})
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, nil
}

// connector names the parameter to correct when the server refuses the TLS settings.
type connector struct {
	driver.Connector
	server string
	plain  bool // without TLS
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	var refused *pgconn.PgError
	if c.plain && errors.As(err, &refused) && refused.Code == "28000" { // pg_hba.conf has no entry
		return nil, tlshint.Plain(err, c.server, "sslmode=verify-full")
	}
	return conn, tlshint.Untrusted(err, c.server, "sslrootcert=")
}

// Tx lets a native pgx transaction be used where a *sql.Tx is expected. A nil transaction, also
// inside the interface, becomes a nil Execer, which is refused there. A transaction of package
// pgxtx is used as the *sql.Tx that it also is, so that its commit is seen.
func Tx(tx pgx.Tx) sqltx.Execer {
	if both, ok := tx.(interface{ Execer() sqltx.Execer }); ok {
		return both.Execer()
	}
	if v := reflect.ValueOf(tx); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return execer{tx}
}

type execer struct{ tx pgx.Tx }

// InTransaction tells sqltx.CheckTx that execer is a transaction: a pgx.Tx is always one. A transaction that has
// ended refuses its statements.
func (execer) InTransaction() bool { return true }

func (e execer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tag, err := e.tx.Exec(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return result(tag.RowsAffected()), nil
}

type result int64

func (r result) RowsAffected() (int64, error) { return int64(r), nil }

func (r result) LastInsertId() (int64, error) {
	return 0, errors.New("pgdb: PostgreSQL has no last insert id; use RETURNING")
}
