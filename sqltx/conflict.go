package sqltx

import "strings"

// IsConflict reports whether err means that the database rolled a transaction back so that
// others could continue. The same transaction can succeed if it is run again. IsConflict looks
// through wrapped and joined errors. It recognises
//
//	PostgreSQL       SQLSTATE 40001 (serialization failure) and 40P01 (deadlock)
//	MySQL, MariaDB   1213 (deadlock, also of a cluster's certification), 1020
//	                 (the row has changed since it was read), and 3101 (refused
//	                 by group replication at COMMIT)
//
// A lock wait timeout is not a conflict: the transaction is still open.
func IsConflict(err error) bool {
	if err == nil {
		return false
	}
	// The drivers of PostgreSQL have this method. This package imports no driver.
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

// conflictOnMySQL reads the number at the beginning of an innermost error's text, as in "Error
// 1213 (40001): Deadlock found". The error of go-sql-driver has its number in a field, which is
// not reachable through an interface.
func conflictOnMySQL(text string) bool {
	const sign = "error "
	if len(text) < len(sign) || !strings.EqualFold(text[:len(sign)], sign) {
		return false
	}
	number, _, ok := strings.Cut(text[len(sign):], ":")
	number, _, _ = strings.Cut(number, " ")
	return ok && (number == "1213" || number == "1020" || number == "3101")
}
