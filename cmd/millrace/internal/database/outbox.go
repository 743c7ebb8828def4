package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
)

// Kind is how an outbox records published events.
type Kind string

// The kinds.
const (
	Cursor Kind = "cursor"
	Status Kind = "status"
)

// ErrNoOutbox is returned if the tables of an outbox do not exist.
var ErrNoOutbox = errors.New("the database has no outbox of this kind; `migrate up` makes its tables")

// Outbox holds the operations of an operator on an outbox.
type Outbox interface {
	driver.Parking
	driver.Failing
	driver.Inspector
}

// Store makes the store of an outbox, with the default number of shards if that is 0. It does
// no I/O.
func (d *Database) Store(kind Kind, shards int) (driver.SQLStore, error) {
	n := d.Names
	switch d.Dialect {
	case Postgres:
		return pgoutbox.New(d.DB, pgoutbox.Config{Status: kind == Status, Shards: shards, Schema: n.Schema, Prefix: n.Prefix})
	case MySQL:
		return mysqloutbox.New(d.DB, mysqloutbox.Config{Status: kind == Status, Shards: shards, Schema: n.Schema, Prefix: n.Prefix})
	case SQLite:
		if n.Schema != "" {
			return nil, fmt.Errorf("the schema is %q; SQLite has none", n.Schema)
		}
		return sqliteoutbox.New(d.DB, sqliteoutbox.Config{Status: kind == Status, Shards: shards, Prefix: n.Prefix})
	}
	return nil, fmt.Errorf("there is no outbox for %q", d.Dialect)
}

// Snapshotter returns the reader of the server's oldest snapshot, nil if there is none. It
// needs no tables.
func (d *Database) Snapshotter() (driver.Snapshotter, error) {
	s, err := d.Store(Cursor, 1)
	if err != nil {
		return nil, err
	}
	teller, _ := s.(driver.Snapshotter)
	return teller, nil
}

// settings is the table that holds the number of an outbox's shards.
func (k Kind) settings() string {
	if k == Status {
		return "outbox_event_settings"
	}
	return "outbox_settings"
}

// has reports whether the tables of an outbox exist.
func (d *Database) has(ctx context.Context, k Kind) (bool, error) {
	return migrate.Exists(ctx, d.DB, d.Dialect.migrations(), d.Names.Schema, d.Names.Name(k.settings()))
}

// Kinds returns the kinds of outbox that the database has.
func (d *Database) Kinds(ctx context.Context) ([]Kind, error) {
	var kinds []Kind
	for _, k := range []Kind{Cursor, Status} {
		there, err := d.has(ctx, k)
		if err != nil {
			return nil, err
		}
		if there {
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}

// Outbox opens the outbox of a kind with the number of shards that it was created with. It
// stores nothing: an unused outbox is left to its first user.
func (d *Database) Outbox(ctx context.Context, k Kind) (Outbox, error) {
	there, err := d.has(ctx, k)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, fmt.Errorf("%w (%s)", ErrNoOutbox, k)
	}
	var text string
	settings := d.Names.Table(k.settings())
	err = d.DB.QueryRowContext(ctx, `SELECT value FROM `+settings+` WHERE name = 'shards'`).Scan(&text)
	shards := 1
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return nil, err
	default:
		if shards, err = strconv.Atoi(text); err != nil {
			return nil, fmt.Errorf("%s holds %q for the number of shards", settings, text)
		}
	}
	return d.Store(k, shards)
}
