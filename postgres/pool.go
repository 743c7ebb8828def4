package postgres

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/driver"
	"github.com/millrace-go/millrace/idempotency/pgidempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx/pgxtx"
)

// Pool returns the database of the application's own pgxpool, for handlers that write with pgx:
// their transactions are pgx.Tx. The pool stays open. It needs a connection for each handler
// that runs at once, and three more. If the pool was made from a URL and Config.Bus is empty,
// the transport is the database's own log, on connections of its own, which are made from the URL.
// A pool whose configuration names another host, port, database, user or search_path than its URL
// needs a Config.Bus.
func Pool(pool *pgxpool.Pool) millrace.Database[pgx.Tx] { return native{pool} }

type native struct{ pool *pgxpool.Pool }

// Stores implements [millrace.Database].
func (n native) Stores() (*driver.Stores[pgx.Tx], error) {
	if n.pool == nil {
		return nil, errors.New("postgres: the pool is nil")
	}
	db := pgxtx.Open(n.pool)
	s, err := n.stores(db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// stores returns the stores of database/sql on the same connections, with transactions of pgx.
func (n native) stores(db *sql.DB) (*driver.Stores[pgx.Tx], error) {
	s, err := SQL(db).Stores()
	if err != nil {
		return nil, err
	}
	keys, err := pgidempotency.New(db, sqlidempotency.Config{})
	if err != nil {
		return nil, err
	}
	return &driver.Stores[pgx.Tx]{
		Do: func(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
			return pgxtx.Do(ctx, db, fn)
		},
		Execer: pgoutbox.Tx,
		Outbox: s.Outbox, Keys: keys, Leases: s.Leases, Scheme: s.Scheme, URL: transport(n.pool.Config()),
		Migrate: s.Migrate, Ping: s.Ping, Classify: s.Classify, Close: db.Close,
	}, nil
}

// transport returns the URL of the pool's own database for the transport, without the parameters
// that only a pgxpool reads, since a server refuses them; "" if the pool was made from key=value
// pairs, which name no transport, or if its configuration was changed to another place than the
// URL's.
func transport(pool *pgxpool.Config) string {
	url := pool.ConnString()
	made, err := pgxpool.ParseConfig(url)
	if err != nil || !strings.HasPrefix(url, "postgres") || place(made) != place(pool) {
		return ""
	}
	address, query, _ := strings.Cut(url, "?")
	kept := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool {
		return pair == "" || strings.HasPrefix(pair, "pool_")
	})
	if len(kept) == 0 {
		return address
	}
	return address + "?" + strings.Join(kept, "&")
}

// place holds what decides which tables a connection reaches.
func place(c *pgxpool.Config) [5]string {
	conn := c.ConnConfig
	return [...]string{conn.Host, strconv.Itoa(int(conn.Port)), conn.Database, conn.User, conn.RuntimeParams["search_path"]}
}
