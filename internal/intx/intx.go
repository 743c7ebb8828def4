// Package intx is what packages of this module ask a context of package sqltx for: its innermost
// transaction, and the connection of a transaction in which the driver's own transaction takes
// part.
package intx

import (
	"context"
	"database/sql"
)

type (
	innermostKey struct{}
	wantedKey    struct{}
	connKey      struct{ tx *sql.Tx }
)

// With returns the context of the transaction tx. conn is its connection, or nil if database/sql
// chose the connection.
func With(ctx context.Context, tx *sql.Tx, conn *sql.Conn) context.Context {
	if IsWanted(ctx) {
		ctx = context.WithValue(ctx, wantedKey{}, false)
	}
	if conn != nil {
		ctx = context.WithValue(ctx, connKey{tx}, conn)
	}
	return context.WithValue(ctx, innermostKey{}, tx)
}

// From returns the innermost of the transactions that ctx carries.
func From(ctx context.Context) (*sql.Tx, bool) {
	tx, ok := ctx.Value(innermostKey{}).(*sql.Tx)
	return tx, ok
}

// WantConn returns a context with which [sqltx.Do] begins its transaction on a connection that
// [Conn] returns inside it. If the context ends, the rollback waits until the function has
// returned, since it may use that connection. A Do that joins an outer transaction ignores it.
func WantConn(ctx context.Context) context.Context { return context.WithValue(ctx, wantedKey{}, true) }

// IsWanted reports whether the transaction that begins with ctx is to have a connection.
func IsWanted(ctx context.Context) bool {
	wanted, _ := ctx.Value(wantedKey{}).(bool)
	return wanted
}

// Conn returns the connection of a transaction that ctx carries, if it began with [WantConn]. Its
// Raw method reaches the driver. The connection is valid until the transaction ends.
func Conn(ctx context.Context, tx *sql.Tx) (*sql.Conn, bool) {
	conn, ok := ctx.Value(connKey{tx}).(*sql.Conn)
	return conn, ok
}
