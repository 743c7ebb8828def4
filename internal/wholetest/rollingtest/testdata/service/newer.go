package main

import (
	"context"
	"database/sql"
	"strings"

	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
)

// store is an outbox's, of either kind. older.txt has the same for releases of before
// outbox/driver.
type store interface {
	driver.Store
	Migrate(ctx context.Context) error
}

func open() (db *sql.DB, s store, err error) {
	kind, path, _ := strings.Cut(*dbURL, "://")
	switch kind {
	case "postgres":
		if db, err = pgdb.Open(*dbURL); err != nil {
			return nil, nil, err
		}
		if *status {
			s, err = pgoutbox.New(db, pgoutbox.Config{Status: true})
		} else {
			s, err = pgoutbox.New(db, pgoutbox.Config{})
		}
	case "mysql":
		if db, err = mysqldb.Open(*dbURL); err != nil {
			return nil, nil, err
		}
		if *status {
			s, err = mysqloutbox.New(db, mysqloutbox.Config{Status: true})
		} else {
			s, err = mysqloutbox.New(db, mysqloutbox.Config{})
		}
	default:
		if db, err = sqliteoutbox.Open(path); err != nil {
			return nil, nil, err
		}
		if *status {
			s, err = sqliteoutbox.New(db, sqliteoutbox.Config{Status: true})
		} else {
			s, err = sqliteoutbox.New(db, sqliteoutbox.Config{})
		}
	}
	return db, s, err
}
