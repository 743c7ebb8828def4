package sqltx

import "strings"

// IsConflict reports whether err says that the database rolled a transaction
// back so that others could go on. The same transaction, begun again, can
// succeed. It looks through wrapped and joined errors. The signs are
//
//	PostgreSQL       SQLSTATE 40001 (serialization failure) and 40P01 (deadlock)
//	MySQL, MariaDB   1213 (deadlock, also of a cluster's certification), 1020
//	                 (the row has changed since it was read), and 3101 (refused
//	                 by group replication at COMMIT)
//
// A lock wait that timed out is none of these: the transaction is still open.
func IsConflict(err error) bool {
	if err == nil {
		return false
	}
	// The drivers of PostgreSQL have this method. A driver is not imported here.
	if s, ok := err.(interface{ SQLState() string }); ok { //nolint:errorlint // the tree is walked by hand
		return s.SQLState() == "40001" || s.SQLState() == "40P01"
	}
	switch e := err.(type) { //nolint:errorlint // the tree is walked by hand
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if IsConflict(inner) {
				return true
			}
		}
		return false
	case interface{ Unwrap() error }:
		return IsConflict(e.Unwrap())
	}
	return conflictOnMySQL(err.Error())
}

// conflictOnMySQL reads the number at the beginning of an innermost error's
// text, as in "Error 1213 (40001): Deadlock found": go-sql-driver's error has
// its number in a field, which no interface reaches.
func conflictOnMySQL(text string) bool {
	const sign = "error "
	if len(text) < len(sign) || !strings.EqualFold(text[:len(sign)], sign) {
		return false
	}
	number, _, ok := strings.Cut(text[len(sign):], ":")
	number, _, _ = strings.Cut(number, " ")
	return ok && (number == "1213" || number == "1020" || number == "3101")
}
