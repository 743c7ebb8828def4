package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

//go:embed sql/sqlite/*.sql
var sqliteMigrations embed.FS

// dialect is everything that differs between databases.
type dialect struct {
	name       string
	migrations func() (migrate.Set, error)
	// rewrite turns the shared SQL into the database's own.
	rewrite  *strings.Replacer
	open     func(path string) (writer, reader *sql.DB, err error)
	classify fault.Classifier
	isUnique func(error) bool
	// gather says whether writers should share commits (see Store.Write).
	gather bool
}

func sqlite() dialect {
	return dialect{
		name: "sqlite",
		migrations: func() (migrate.Set, error) {
			files, err := fs.Sub(sqliteMigrations, "sql/sqlite")
			return migrate.Set{Package: "boxoffice", Dialect: migrate.SQLite, FS: files}, err
		},
		rewrite: strings.NewReplacer(
			"now_ms()", "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
			// There is one writer, and transactions begin as one.
			"FOR UPDATE SKIP LOCKED", "",
			"FOR UPDATE", "",
		),
		open:     openSQLite,
		classify: sqlitedb.Classify,
		isUnique: sqlitedb.IsUnique,
		gather:   true,
	}
}

func openSQLite(path string) (writer, reader *sql.DB, err error) {
	if writer, err = sqlitedb.Open(path, sqlitedb.Config{}); err != nil {
		return nil, nil, err
	}
	// Two of them are held: the relay and the transport watch for commits.
	if reader, err = sqlitedb.OpenReader(path, sqlitedb.Config{MaxOpenConns: 8}); err != nil {
		return nil, nil, errors.Join(err, writer.Close())
	}
	return writer, reader, nil
}

// Schemes are the database URLs that [Open] knows.
func Schemes() []string { return []string{"sqlite"} }

// CheckURL says what is wrong with a database URL, before anything is opened.
// It never repeats what may be a password.
func CheckURL(raw string) error {
	_, err := parse(raw)
	return err
}

// SamePath reports whether two SQLite URLs name the same file, so that the
// transport can share the database's pools.
func SamePath(a, b string) bool {
	pa, errA := parse(a)
	pb, errB := parse(b)
	return errA == nil && errB == nil && pa == pb
}

// parse returns the path of a sqlite URL: sqlite://relative.db or
// sqlite:///absolute.db.
func parse(raw string) (path string, err error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return "", errors.New("the URL has no scheme; write sqlite://path")
	}
	if scheme != "sqlite" {
		return "", fmt.Errorf("unknown scheme %q; known are: %s", scheme, strings.Join(Schemes(), ", "))
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", errors.New("the URL is malformed; write sqlite://path")
	}
	if err := bus.NewParams(u).Err(); err != nil {
		return "", err
	}
	rest, _, _ = strings.Cut(rest, "?")
	if rest, err = url.PathUnescape(rest); err != nil || rest == "" {
		return "", errors.New("the URL names no file; write sqlite://path")
	}
	return rest, nil
}

// Path returns the file of a SQLite URL.
func Path(raw string) (string, error) { return parse(raw) }

// ping is the cheapest question that shows the database answers.
func ping(ctx context.Context, db *sql.DB) error {
	var one int
	return db.QueryRowContext(ctx, "SELECT 1").Scan(&one)
}
