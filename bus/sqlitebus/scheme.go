package sqlitebus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"time"

	"database/sql"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/internal/sqllog/sqlitelog"
)

// Config of the scheme. The zero value works.
type Config struct {
	// DB is the application's own writer pool. It is used where a URL names the
	// same file, so that both queue for the one write lock in Go instead of
	// polling for it, and so that Publish can take part in the application's
	// transactions. It must begin transactions IMMEDIATE. It is not closed.
	DB *sql.DB
	// ReadDB is a reader pool on the same file, used together with DB; one of
	// four connections is opened when nil. It is not closed.
	ReadDB *sql.DB
	// Partitions of a topic that was not declared; 3 by default. The URL's
	// ?partitions=N comes first. More let more instances share a group.
	Partitions int
	// Retention of messages that every group has passed; 72 h by default. The
	// URL's ?retention=D comes first. A longer one costs disk space.
	Retention time.Duration
	// LeaseTTL is how long a killed process keeps its partitions; 10 s by
	// default. Every process writes each third of it.
	LeaseTTL time.Duration
	// Logger hears of trouble in the background; slog.Default() by default.
	Logger *slog.Logger
}

// scheme opens sqlite:// URLs.
type scheme struct{ cfg Config }

// Scheme returns the scheme sqlite://relative/path.db or sqlite:///absolute/path.db.
// The file and its tables are made when they do not exist; the folder is not.
//
// Parameters: partitions (3), retention (72h), synchronous (full or normal; it
// means nothing where Config.DB is used).
func Scheme(cfg Config) bus.Scheme { return scheme{cfg} }

func (scheme) Name() string { return "sqlite" }

func (s scheme) Open(ctx context.Context, u *url.URL) (bus.Driver, error) {
	path, err := pathOf(u)
	if err != nil {
		return nil, err
	}
	cfg := s.cfg
	params := bus.NewParams(u)
	cfg.Partitions = params.Int("partitions", cfg.Partitions, 1)
	cfg.Retention = params.Duration("retention", cfg.Retention)
	synchronous := params.String("synchronous", "full")
	if err := params.Err(); err != nil {
		return nil, err
	}
	var pool sqlitedb.Config
	switch synchronous {
	case "full":
		pool.Synchronous = sqlitedb.Full
	case "normal":
		pool.Synchronous = sqlitedb.Normal
	default:
		return nil, fmt.Errorf("parameter \"synchronous\" is %q; give full (commits survive a power cut) or normal", synchronous)
	}
	return open(ctx, path, pool, cfg)
}

// pathOf returns the file that the URL names. What looks like a host is the
// first part of a relative path.
func pathOf(u *url.URL) (string, error) {
	switch {
	case u.User != nil:
		return "", errors.New("a sqlite URL has no user; write sqlite://relative/path.db or sqlite:///absolute/path.db")
	case u.Fragment != "":
		return "", errors.New("a sqlite URL has no fragment; write # in a path as %23")
	case u.Opaque != "" || u.Host+u.Path == "" || u.Path == "/":
		return "", errors.New("the URL names no file; write sqlite://relative/path.db or sqlite:///absolute/path.db")
	}
	return filepath.FromSlash(u.Host + u.Path), nil
}

// tables is the log of the bus.
var tables = sqllog.Tables{Messages: "bus_messages", Cursors: "bus_cursors", Package: "bus"}

// migrations returns the schema: the log's tables, and those beside it.
func migrations(log *sqlitelog.Log) ([]migrate.Set, error) {
	of, err := log.Migrations()
	if err != nil {
		return nil, err
	}
	beside, err := directoryMigrations()
	if err != nil {
		return nil, err
	}
	return []migrate.Set{of, beside}, nil
}

// PrintMigrations writes the schema as a script for sqlite3. Open applies it by
// itself; this is for reading, and for who creates tables by other means.
func PrintMigrations(w io.Writer) error {
	log, err := sqlitelog.New(new(sql.DB), tables) // only its text is asked for
	if err != nil {
		return err
	}
	sets, err := migrations(log)
	if err != nil {
		return err
	}
	for _, set := range sets {
		if err := set.Print(w); err != nil {
			return err
		}
	}
	return nil
}
