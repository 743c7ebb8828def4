package driver

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	outboxdriver "github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/sqltx"
)

// EnvDatabase is the environment variable that names the database when Open of package
// postgres, mysql or sqlite is given no URL.
const EnvDatabase = "MILLRACE_DB_URL"

// SQLDatabase makes a [Database] of database/sql. Its fields are the differences between
// packages postgres, mysql and sqlite.
type SQLDatabase struct {
	Name    string // of the package, for errors
	Dialect sqltx.Dialect
	// Connect opens a pool; it connects to no server.
	Connect func(url string) (*sql.DB, error)
	Outbox  func(db *sql.DB) (outboxdriver.SQLStore, error)
	// Log returns the transport on the database's own log.
	Log      func(db *sql.DB) bus.Scheme
	Classify fault.Classifier
}

// Open returns the database at a URL, or at $MILLRACE_DB_URL when the URL is empty. App.Close
// closes its pool.
func (d SQLDatabase) Open(url string) Database[*sql.Tx] {
	return sqlDatabase{SQLDatabase: d, url: cmp.Or(url, os.Getenv(EnvDatabase))}
}

// Pool returns the database of the application's own pool, which stays open. Config.Bus has to
// name the transport.
func (d SQLDatabase) Pool(db *sql.DB) Database[*sql.Tx] {
	return sqlDatabase{SQLDatabase: d, db: db, given: true}
}

// sqlDatabase is a SQLDatabase with a URL, or with the application's pool.
type sqlDatabase struct {
	SQLDatabase
	url   string
	db    *sql.DB
	given bool
}

// Stores implements [Database].
func (d sqlDatabase) Stores() (*Stores[*sql.Tx], error) {
	db, done := d.db, func() error { return nil }
	switch {
	case d.given && db == nil:
		return nil, fmt.Errorf("%s: the pool is nil", d.Name)
	case !d.given && d.url == "":
		return nil, fmt.Errorf("%s: no URL was given to Open, and $%s is empty", d.Name, EnvDatabase)
	case !d.given:
		opened, err := d.Connect(d.url)
		if err != nil {
			return nil, err
		}
		db, done = opened, opened.Close
	}
	s, err := d.stores(db)
	if err != nil {
		done() //nolint:errcheck // nothing was done with it
		return nil, err
	}
	s.Close = done
	return s, nil
}

func (d sqlDatabase) stores(db *sql.DB) (*Stores[*sql.Tx], error) {
	box, err := d.Outbox(db)
	if err != nil {
		return nil, err
	}
	keys, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: d.Dialect})
	if err != nil {
		return nil, err
	}
	leases, err := sqlidempotency.NewLeases(db, sqlidempotency.Config{Dialect: d.Dialect})
	if err != nil {
		return nil, err
	}
	return &Stores[*sql.Tx]{
		Do: func(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
			return sqltx.Do(ctx, db, fn)
		},
		Execer: func(tx *sql.Tx) sqltx.Execer { return tx },
		Outbox: box, Keys: keys, Leases: leases,
		Scheme: d.Log(db), URL: d.url,
		Migrate: func(ctx context.Context) error {
			for _, migrate := range []func(context.Context) error{box.Migrate, keys.Migrate, leases.Migrate} {
				if err := migrate(ctx); err != nil {
					return err
				}
			}
			return nil
		},
		Ping: d.ping(db), Classify: d.Classify,
	}, nil
}

// ping checks that the server answers. SQLite needs no check: the database is a file, and a
// handler may hold its only connection.
func (d sqlDatabase) ping(db *sql.DB) func(context.Context) error {
	if d.Dialect == sqltx.SQLite {
		return func(context.Context) error { return nil }
	}
	return db.PingContext
}
