package pgdb

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"net/url"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-go/millrace/fault"
)

// Classify classifies PostgreSQL's errors by SQLSTATE, and the driver's connection errors. All
// other errors are unclassified.
//
//	infrastructure  08 connection, 57P0x shutdown, 53 resources (disk full, too
//	                many connections), 58 system, 25006 read-only (a failover),
//	                28 and 3D000 when connecting; network errors; 26000 and 42P05
//	                prepared statements lost or met twice (PgBouncer)
//	transient       40001 serialization, 40P01 deadlock, 55P03 lock timeout,
//	                57014 statement timeout
//	permanent       22 data, 23 constraint
func Classify(err error) fault.Class {
	if err == nil {
		return fault.Unclassified
	}
	// A failed connect may have any code (no such database, wrong password): none of them
	// depends on the statement's input.
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return fault.Infrastructure
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return classifyState(pg.Code)
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, pgconn.ErrConnClosed) || pgconn.Timeout(err) || pgconn.SafeToRetry(err) {
		return fault.Infrastructure
	}
	// An HTTP client's network error is inside a *url.Error. It is not the database's.
	var web *url.Error
	var network *net.OpError
	if !errors.As(err, &web) && errors.As(err, &network) {
		return fault.Infrastructure
	}
	return fault.Unclassified
}

func classifyState(code string) fault.Class {
	switch code {
	case "40001", "40P01", "55P03", "57014":
		return fault.Transient
	case "25006", "26000", "42P05": // the last two: behind a pooler in transaction mode, docs/pgbouncer.md
		return fault.Infrastructure
	}
	if len(code) < 2 {
		return fault.Unclassified
	}
	switch code[:2] {
	case "08", "53", "57", "58":
		return fault.Infrastructure
	case "22", "23":
		return fault.Permanent
	}
	return fault.Unclassified
}

// IsUnique reports whether a unique constraint refused the row (SQLSTATE 23505).
func IsUnique(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505"
}

// IsTimeout reports whether the server ended the statement: its statement_timeout was over, or
// it was cancelled (SQLSTATE 57014).
func IsTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "57014"
}
