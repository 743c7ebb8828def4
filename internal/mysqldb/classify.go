package mysqldb

import (
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/millrace-go/millrace/fault"
)

// Classify classifies the errors of MySQL and MariaDB by number, then by SQLSTATE, and the
// driver's connection errors. All other errors are unclassified.
//
//	infrastructure  unreachable, shut down, out of connections, memory or disk,
//	                read-only (a failover), connection refused; network errors
//	transient       deadlock, lock wait timeout, statement timeout
//	permanent       SQLSTATE 22 data and 23 constraint, and data errors that
//	                have no state of their own
func Classify(err error) fault.Class {
	if err == nil {
		return fault.Unclassified
	}
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		return classifyNumber(server)
	}
	if errors.Is(err, mysql.ErrPktTooLarge) {
		return fault.Permanent
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, mysql.ErrMalformPkt) ||
		errors.Is(err, mysql.ErrPktSync) || errors.Is(err, mysql.ErrPktSyncMul) {
		return fault.Infrastructure
	}
	// An HTTP client's network error is inside a *url.Error. It is not the database's.
	var web *url.Error
	var network *net.OpError
	var stranger *tls.CertificateVerificationError
	if !errors.As(err, &web) && (errors.As(err, &network) || errors.As(err, &stranger) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return fault.Infrastructure
	}
	return fault.Unclassified
}

func classifyNumber(err *mysql.MySQLError) fault.Class {
	switch n := err.Number; n {
	case 1205, // lock wait timeout
		1213,       // deadlock
		3572,       // lock not available at once (NOWAIT)
		1020,       // the row has changed since it was read
		1317, 1969, // the statement was interrupted, or took too long (MariaDB)
		3024: // the statement took too long (MySQL)
		return fault.Transient
	case 1040, 1203, 1226, // too many connections, of all, of this user, per hour
		1042, 1043, 1129, 1130, 1044, 1045, 1049, 1698, 3159, // connection refused
		1820, 1862, 3118, 3955, // an account that is locked, or whose password has expired (MySQL)
		1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 3169, 4031, // shut down, cut, killed
		3032, 3168, // in offline mode, not available (MySQL)
		1047,                         // not connected to its cluster
		1290, 1836, 3100, 1207, 1792, // read-only
		1021, 1114, 1030, 1034, 1037, 1038, 1041, 1135, 3675: // disk, memory, threads
		return fault.Infrastructure
	case 1048, 1062, 1169, 1216, 1217, 1451, 1452, 1761, 1762, 3819, 4025, // constraints
		1153, 1390, // a statement that is too large
		1264, 1265, 1292, 1364, 1366, // data that fits no column
		1406, 1690, 3140, 3141, 4038:
		return fault.Permanent
	case 1105: // "unknown error", which only its text distinguishes
		if strings.Contains(err.Message, "max_allowed_packet") {
			return fault.Permanent
		}
	default:
		if n >= 2000 && n < 2100 { // a client library's own: cannot connect, gone away
			return fault.Infrastructure
		}
	}
	switch string(err.SQLState[:2]) {
	case "08":
		return fault.Infrastructure
	case "22", "23":
		return fault.Permanent
	case "40":
		return fault.Transient
	}
	return fault.Unclassified
}

// IsUnique reports whether a unique or primary key refused the row (1062).
func IsUnique(err error) bool { return is(err, 1062) }

// IsDeadlock reports whether the server rolled the transaction back to end a
// deadlock (1213). Repeated from its beginning it can succeed.
func IsDeadlock(err error) bool { return is(err, 1213) }

// IsTimeout reports whether the server ended the statement because it took too long:
// max_execution_time of MySQL (3024), max_statement_time of MariaDB (1969).
func IsTimeout(err error) bool { return is(err, 3024) || is(err, 1969) }

func is(err error, number uint16) bool {
	var server *mysql.MySQLError
	return errors.As(err, &server) && server.Number == number
}
