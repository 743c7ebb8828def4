package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// standard is a connector whose connections understand the shared SQL's
// parameters $1, $2, … in any order and number, and || between texts. Statements
// with ? go through as they are.
type standard struct{ driver.Connector }

func (c standard) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, ok := conn.(driverConn)
	if !ok {
		return nil, errors.Join(errors.New("store: the MySQL driver lacks a method"), conn.Close())
	}
	const mode = `SET SESSION sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')`
	if _, err := inner.ExecContext(ctx, mode, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("store: set sql_mode: %w", err), conn.Close())
	}
	return numbered{inner}, nil
}

// driverConn has all the methods that database/sql asks of a connection: hiding one
// of these would change how the pool treats it.
type driverConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
}

// numbered is such a connection.
type numbered struct{ driverConn }

func (c numbered) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	text, order := positional(query)
	return c.driverConn.ExecContext(ctx, text, reorder(order, args))
}

func (c numbered) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	text, order := positional(query)
	return c.driverConn.QueryContext(ctx, text, reorder(order, args))
}

func (c numbered) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	text, order := positional(query)
	stmt, err := c.driverConn.PrepareContext(ctx, text)
	if err != nil || order == nil {
		return stmt, err
	}
	inner, ok := stmt.(driverStmt)
	if !ok {
		return nil, errors.Join(errors.New("store: the MySQL driver lacks a method"), stmt.Close())
	}
	return numberedStmt{inner, order}, nil
}

type driverStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
	driver.NamedValueChecker
}

type numberedStmt struct {
	driverStmt
	order []int
}

// NumInput leaves the count to the server: one argument may serve twice.
func (numberedStmt) NumInput() int { return -1 }

func (s numberedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.driverStmt.ExecContext(ctx, reorder(s.order, args))
}

func (s numberedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.driverStmt.QueryContext(ctx, reorder(s.order, args))
}

var parameter = regexp.MustCompile(`\$[1-9][0-9]*`)

// positional converts $n to ? and returns the argument of each ?.
func positional(query string) (text string, order []int) {
	text = parameter.ReplaceAllStringFunc(query, func(p string) string {
		n, err := strconv.Atoi(p[1:])
		if err != nil {
			return p // too large to be a parameter
		}
		order = append(order, n-1)
		return "?"
	})
	return text, order
}

func reorder(order []int, args []driver.NamedValue) []driver.NamedValue {
	if order == nil {
		return args
	}
	out := make([]driver.NamedValue, 0, len(order))
	for i, from := range order {
		if from >= len(args) {
			return args // the server says that one is missing
		}
		out = append(out, driver.NamedValue{Ordinal: i + 1, Value: args[from].Value})
	}
	return out
}
