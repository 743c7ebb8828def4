package sqlitedb

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
)

// mostStatements bounds the statements that a connection keeps, of the latest use.
const mostStatements = 200

// keeping makes connections that keep their prepared statements. Parsing a short statement takes
// SQLite longer than its execution, and programs repeat the same few texts.
type keeping struct{ driver.Connector }

// Connect implements driver.Connector.
func (k keeping) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := k.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c, ok := opened.(connection)
	if !ok {
		return nil, errors.Join(fmt.Errorf("sqlitedb: a connection of the driver is a %T, without what database/sql may ask of it", opened), opened.Close())
	}
	return &conn{connection: c, kept: map[string]*list.Element{}, latest: list.New()}, nil
}

// connection is the interface of the driver's connections.
type connection interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn is a connection with its idle statements. One goroutine at a time uses it, as
// database/sql guarantees.
type conn struct {
	connection
	kept   map[string]*list.Element
	latest *list.List // of *statement; the one used last is in front
}

// statement is a prepared statement.
type statement struct {
	prepared
	text string
}

type prepared interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	defer c.keep(s)
	return s.ExecContext(ctx, args)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	r, err := s.QueryContext(ctx, args)
	if err != nil {
		c.keep(s)
		return nil, err
	}
	return &rows{Rows: r, conn: c, of: s}, nil
}

// take returns a statement for one run. While it is in use, another run of the same text uses
// another.
func (c *conn) take(ctx context.Context, query string) (*statement, error) {
	// The driver keeps a parsed text only if nothing follows its statement.
	query = strings.TrimRight(query, " \t\r\n")
	if e, ok := c.kept[query]; ok {
		delete(c.kept, query)
		return c.latest.Remove(e).(*statement), nil //nolint:forcetypeassert // nothing else is in it
	}
	s, err := c.PrepareContext(ctx, strings.TrimSuffix(query, ";"))
	if err != nil {
		return nil, err
	}
	p, ok := s.(prepared)
	if !ok {
		return nil, errors.Join(fmt.Errorf("sqlitedb: a statement of the driver is a %T, which takes no context", s), s.Close())
	}
	return &statement{p, query}, nil
}

// keep takes a statement back. A statement closed here was idle, so its error concerns no run.
func (c *conn) keep(s *statement) {
	if _, twice := c.kept[s.text]; twice {
		_ = s.Close()
		return
	}
	c.kept[s.text] = c.latest.PushFront(s)
	if c.latest.Len() > mostStatements {
		oldest := c.latest.Remove(c.latest.Back()).(*statement) //nolint:forcetypeassert // nothing else is in it
		delete(c.kept, oldest.text)
		_ = oldest.Close()
	}
}

// Close implements driver.Conn.
func (c *conn) Close() error {
	var errs []error
	for e := c.latest.Front(); e != nil; e = e.Next() {
		errs = append(errs, e.Value.(*statement).Close()) //nolint:forcetypeassert // nothing else is in it
	}
	c.latest.Init()
	clear(c.kept)
	return errors.Join(append(errs, c.connection.Close())...)
}

// rows returns its statement when it is closed.
type rows struct {
	driver.Rows
	conn *conn
	of   *statement // nil after it was returned
}

// Close implements driver.Rows.
func (r *rows) Close() error {
	err := r.Rows.Close()
	if r.of != nil {
		r.conn.keep(r.of)
		r.of = nil
	}
	return err
}
