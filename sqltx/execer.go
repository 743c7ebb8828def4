package sqltx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
)

// Execer runs one statement inside a transaction. [sql.Tx] and the transactions of common
// wrappers (sqlx, bun, gorm) implement it. So do pools and connections, which [CheckTx]
// refuses.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// ErrNoTransaction is returned by [CheckTx].
var ErrNoTransaction = errors.New("sqltx: not a transaction")

// CheckTx returns an error that wraps [ErrNoTransaction] unless x is a transaction. The error
// names the type of x and the type to pass. A pool or a connection would commit each statement
// by itself, even if the caller's work is rolled back.
//
// CheckTx decides by the methods of x, so that a wrapper is judged by the type that it wraps:
//
//	InTransaction() bool         its result
//	PingContext                  a pool or a connection: refused
//	Commit and Rollback          a transaction
//	none of these                refused: it may be either
//
// A nil pointer is refused, also when it is the embedded field of a wrapper.
//
// Give your own wrapper the method InTransaction if the wrapper has neither Commit nor Rollback,
// or if it is sometimes a pool and sometimes a transaction. InTransaction reports whether the
// statements of ExecContext are now committed or rolled back together with the caller's other
// statements:
//
//	type logged struct{ tx *sql.Tx }
//
//	func (l logged) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) { … }
//	func (l logged) InTransaction() bool { return l.tx != nil }
//
// A *sql.Conn on which you executed BEGIN can be wrapped in the same way.
func CheckTx(x Execer) error {
	switch tx := x.(type) {
	case nil:
		return refused("got nil")
	case *sql.Tx:
		if tx != nil {
			return nil
		}
	}
	v := reflect.ValueOf(x)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return refused("got a nil %T", x)
	}
	if own, ok := x.(interface{ InTransaction() bool }); ok {
		if own.InTransaction() {
			return nil
		}
		return refused("got a %T, whose InTransaction says that it is in none", x)
	}
	if inner := hollow(v, embeddings); inner != "" {
		return refused("got a %T around a nil %s", x, inner)
	}
	if _, pool := x.(interface{ PingContext(context.Context) error }); pool {
		return refused("got a %T, which is a pool or a connection and commits each statement by itself", x)
	}
	if ends(x) {
		return nil
	}
	return refused("got a %T, which has neither Commit and Rollback nor InTransaction (see sqltx.CheckTx)", x)
}

func refused(format string, a ...any) error {
	return fmt.Errorf("%w: %s; pass the *sql.Tx that writes your data, a wrapper's transaction, or the one that sqltx.Do gives",
		ErrNoTransaction, fmt.Sprintf(format, a...))
}

// ends reports whether x can end a transaction, by the methods of database/sql or of pgx.
func ends(x Execer) bool {
	switch x.(type) {
	case interface {
		Commit() error
		Rollback() error
	}, interface {
		Commit(context.Context) error
		Rollback(context.Context) error
	}:
		return true
	}
	return false
}

// embeddings bounds how deep wrappers are inspected.
const embeddings = 4

var execer = reflect.TypeFor[Execer]()

// hollow returns the type of an embedded nil through which v would run its statements, or ""
// when there is none. A call through such a nil would panic.
func hollow(v reflect.Value, depth int) string {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return v.Type().String()
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || depth == 0 {
		return ""
	}
	for field, at := range v.Fields() {
		if !field.Anonymous || !field.Type.Implements(execer) {
			continue
		}
		if inner := hollow(at, depth-1); inner != "" {
			return inner
		}
	}
	return ""
}
