// Package sqlite makes a SQLite database for the front door: the outbox, the idempotency keys
// and the transport of an application are in its own file.
//
//	app, err := millrace.New(sqlite.Open("sqlite://app.db"), millrace.Config{Service: "orders"})
//
// The guarantees of package millrace hold: its tests run on this package. Failure modes are
// those of package sqliteoutbox: the file must be on a local disk.
package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/driver"
	"github.com/millrace-go/millrace/internal/rawurl"
	outboxdriver "github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// Open returns the database in the file of a path or a URL, such as app.db or sqlite://app.db,
// or of $MILLRACE_DB_URL, a URL, when path is empty. A missing file is created. millrace.New
// opens the pool, and App.Close closes it.
func Open(path string) millrace.Database[*sql.Tx] {
	if path != "" && !strings.Contains(path, "://") {
		path = ofPath(path)
	}
	return database().Open(path)
}

// ofPath returns the URL of a path.
func ofPath(path string) string {
	if path[0] != '/' {
		path = "./" + path // the first part need not be the name of a host
	}
	return "sqlite://" + (&url.URL{Path: path}).EscapedPath()
}

// connect opens the file that the transport of the same URL opens.
func connect(raw string) (*sql.DB, error) {
	u, err := rawurl.Parse(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("sqlite: %w", err)
	case u.Scheme != "sqlite":
		return nil, fmt.Errorf("sqlite: the URL's scheme is %q; use sqlite://path", u.Scheme)
	}
	return sqliteoutbox.Open(filepath.FromSlash(u.Host + u.Path))
}

// SQL returns the database of the application's own pool on a file, opened by sqliteoutbox.Open
// or with the same settings. The pool stays open. Config.Bus has to name the transport, such as
// sqlite://app.db.
func SQL(db *sql.DB) millrace.Database[*sql.Tx] { return database().Pool(db) }

func database() driver.SQLDatabase {
	return driver.SQLDatabase{
		Name: "sqlite", Dialect: sqltx.SQLite, Classify: sqliteoutbox.Classify,
		Connect: connect,
		Outbox:  func(db *sql.DB) (outboxdriver.SQLStore, error) { return sqliteoutbox.New(db, sqliteoutbox.Config{}) },
		Log:     func(db *sql.DB) bus.Scheme { return sqlitebus.Scheme(sqlitebus.Config{DB: db}) },
	}
}
