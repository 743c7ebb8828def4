// Package database opens the databases of the tool by their URLs, and knows the tables of
// Millrace's packages.
package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/internal/sqlname"
)

// Dialect is the SQL dialect of a database.
type Dialect string

// The dialects.
const (
	Postgres Dialect = "postgres"
	MySQL    Dialect = "mysql" // and MariaDB
	SQLite   Dialect = "sqlite"
)

// Database is an opened database.
type Database struct {
	Dialect Dialect
	DB      *sql.DB
	// Names are the names of the outbox's tables. Open leaves the default.
	Names sqlname.Names
}

// Dialects are the names that ParseDialect accepts.
func Dialects() []string { return []string{string(Postgres), string(MySQL), string(SQLite)} }

// ParseDialect reads the name of a dialect.
func ParseDialect(name string) (Dialect, error) {
	switch strings.ToLower(name) {
	case "postgres", "postgresql":
		return Postgres, nil
	case "mysql", "mariadb":
		return MySQL, nil
	case "sqlite":
		return SQLite, nil
	}
	return "", fmt.Errorf("%q is no database; use %s", name, strings.Join(Dialects(), ", "))
}

// DialectOf returns the dialect of a URL's database.
func DialectOf(rawURL string) (Dialect, error) {
	scheme, _, ok := strings.Cut(rawURL, "://")
	if !ok {
		return "", errors.New("the URL has no scheme; write postgres://…, mysql://… or sqlite://path")
	}
	d, err := ParseDialect(scheme)
	if err != nil {
		return "", errors.New("the URL is not that of a database; write postgres://…, mysql://… or sqlite://path")
	}
	return d, nil
}

// Open opens the database of a URL. It connects only to a file, and creates one only with create.
func Open(rawURL string, create bool) (*Database, error) {
	dialect, err := DialectOf(rawURL)
	if err != nil {
		return nil, err
	}
	d := &Database{Dialect: dialect}
	switch dialect {
	case Postgres:
		d.DB, err = pgdb.Open(Plain(rawURL))
	case MySQL:
		d.DB, err = mysqldb.Open(Plain(rawURL))
	case SQLite:
		d.DB, err = openFile(rawURL, create)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Connect is Open for a server that has to answer in time; 0 is 10 s.
func Connect(ctx context.Context, rawURL string, create bool, within time.Duration) (*Database, error) {
	d, err := Open(rawURL, create)
	if err != nil || d.Dialect == SQLite {
		return d, err
	}
	within = cmp.Or(within, 10*time.Second)
	asking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err = d.DB.PingContext(asking); err == nil {
		return d, nil
	}
	var slow net.Error // of the dial, a moment before asking ends
	if ctx.Err() == nil && (asking.Err() != nil || errors.As(err, &slow) && slow.Timeout()) {
		err = fmt.Errorf("the server does not answer within %s; millrace doctor looks for the cause: %w", within, err)
	}
	return nil, errors.Join(err, d.Close())
}

// Close closes the pool.
func (d *Database) Close() error { return d.DB.Close() }

func openFile(rawURL string, create bool) (*sql.DB, error) {
	path, err := Path(rawURL)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); !create && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s; `migrate up` makes it", path)
	}
	cfg := sqlitedb.Config{}
	if u, err := url.Parse(rawURL); err == nil && u.Query().Get("synchronous") == "normal" {
		cfg.Synchronous = sqlitedb.Normal
	}
	return sqlitedb.Open(path, cfg)
}

// Path returns the file of a SQLite URL: sqlite://relative/path.db or
// sqlite:///absolute/path.db.
func Path(rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	switch {
	case err != nil:
		return "", errors.New("the URL is malformed; percent-encode special characters in the path")
	case u.User != nil:
		return "", errors.New("a sqlite URL has no user; write sqlite://relative/path.db or sqlite:///absolute/path.db")
	case u.Opaque != "" || u.Host+u.Path == "" || u.Path == "/":
		return "", errors.New("the URL names no file; write sqlite://relative/path.db or sqlite:///absolute/path.db")
	}
	return filepath.FromSlash(u.Host + u.Path), nil
}

// Plain removes the parameters of a server's URL that only its transport understands, so
// that one URL serves for both.
func Plain(rawURL string) string {
	base, query, ok := strings.Cut(rawURL, "?")
	if !ok || strings.Contains(query, "@") {
		return rawURL // a password may hold the question mark
	}
	var keep []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if !slices.Contains([]string{"partitions", "retention", "poll", "mode"}, name) {
			keep = append(keep, pair)
		}
	}
	if len(keep) == 0 {
		return base
	}
	return base + "?" + strings.Join(keep, "&")
}
