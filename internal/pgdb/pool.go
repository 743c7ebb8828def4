package pgdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// OverPool returns a database/sql pool on the connections of a pgxpool: as many as the pgxpool
// has, none of them kept idle. The driver's connection returns pgx's own transaction by its
// method Tx.
func OverPool(pool *pgxpool.Pool) *sql.DB {
	db := sql.OpenDB(poolConnector{stdlib.GetPoolConnector(pool)})
	db.SetMaxIdleConns(0)                           // they go back to pool
	db.SetMaxOpenConns(int(pool.Config().MaxConns)) // a pool of one is known as such
	return db
}

// Conn returns the connection of pgx behind one of database/sql, and false for other drivers.
func Conn(of any) (*pgx.Conn, bool) {
	c, ok := of.(interface{ Conn() *pgx.Conn })
	if !ok {
		return nil, false
	}
	return c.Conn(), true
}

type poolConnector struct{ driver.Connector }

func (c poolConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &poolConn{driverConn: conn.(*stdlib.Conn)}, nil
}

// driverConn is renamed because the name Conn would hide its method Conn.
type driverConn = stdlib.Conn

// poolConn begins transactions with pgx, and so knows them.
type poolConn struct {
	*driverConn
	tx pgx.Tx
}

// Tx returns the last transaction. It refuses statements once it has ended.
func (c *poolConn) Tx() pgx.Tx { return c.tx }

var levels = map[sql.IsolationLevel]pgx.TxIsoLevel{
	sql.LevelDefault: "", sql.LevelReadUncommitted: pgx.ReadUncommitted, sql.LevelReadCommitted: pgx.ReadCommitted,
	sql.LevelRepeatableRead: pgx.RepeatableRead, sql.LevelSnapshot: pgx.RepeatableRead, sql.LevelSerializable: pgx.Serializable,
}

// BeginTx implements the driver's interface.
func (c *poolConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if c.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	level, ok := levels[sql.IsolationLevel(o.Isolation)]
	if !ok {
		return nil, fmt.Errorf("pgdb: PostgreSQL has no isolation level %s", sql.IsolationLevel(o.Isolation))
	}
	options := pgx.TxOptions{IsoLevel: level}
	if o.ReadOnly {
		options.AccessMode = pgx.ReadOnly
	}
	tx, err := c.Conn().BeginTx(ctx, options)
	if err != nil {
		return nil, err
	}
	c.tx = tx
	return ending{ctx, tx}, nil
}

// ending ends a transaction of pgx for database/sql.
type ending struct {
	ctx context.Context
	tx  pgx.Tx
}

func (e ending) Commit() error   { return e.tx.Commit(e.ctx) }
func (e ending) Rollback() error { return e.tx.Rollback(e.ctx) }
