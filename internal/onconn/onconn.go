// Package onconn lets the driver's own transaction take part in package sqltx: a transaction that
// sqltx begins on a connection of its own, and that connection, are in the context.
package onconn

import (
	"context"
	"database/sql"
)

type contextKey struct{}

// value is what a context says: that the next transaction is to have a connection, or the
// connection of the innermost transaction.
type value struct {
	wanted bool
	conn   *sql.Conn
}

func of(ctx context.Context) value {
	v, _ := ctx.Value(contextKey{}).(value)
	return v
}

// Wanted returns a context with which [sqltx.Do] begins its transaction on a connection that
// [Conn] returns inside it. If the context ends, the rollback waits until the function has
// returned, since it may use that connection. A Do that joins an outer transaction ignores it.
func Wanted(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, value{wanted: true})
}

// IsWanted reports whether the transaction that begins with ctx is to have a connection.
func IsWanted(ctx context.Context) bool { return of(ctx).wanted }

// With returns the context of a transaction: on conn, or on a connection that database/sql
// chooses if conn is nil. The transactions inside it are not to have connections.
func With(ctx context.Context, conn *sql.Conn) context.Context {
	if conn == nil && of(ctx) == (value{}) {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, value{conn: conn})
}

// Conn returns the connection of the innermost transaction that ctx carries, if it began with
// [Wanted]. Its Raw method reaches the driver. The connection is valid until the transaction
// ends.
func Conn(ctx context.Context) (*sql.Conn, bool) {
	conn := of(ctx).conn
	return conn, conn != nil
}
