package sqlitebus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

// Config of the scheme. The zero value works.
type Config struct {
	// DB is the application's own writer pool. It is used where a URL names the same file, so
	// that both queue for the one write lock in Go instead of polling for it, and so that
	// Publish can take part in the application's transactions. It must begin transactions
	// IMMEDIATE. The bus does not close it.
	DB *sql.DB
	// ReadDB is a reader pool on the same file, used together with DB; when nil, the bus opens
	// one with four connections. The bus does not close ReadDB.
	ReadDB *sql.DB
	// Partitions of an undeclared topic; 3 by default. The URL's ?partitions=N takes precedence.
	// With more partitions, more instances can share a group.
	Partitions int
	// Retention of messages that every group has acknowledged; 72 h by default. The URL's
	// ?retention=D takes precedence. A longer retention costs disk space.
	Retention time.Duration
	// Holder names this process to the others, and is the same after every restart; a random
	// name by default. A killed process then gets its partitions back as soon as it restarts,
	// instead of after LeaseTTL. Only one live process may have the name: two would repeatedly
	// take the partitions from each other, which loses nothing but repeats messages.
	Holder string
	// LeaseTTL is how long a killed process keeps its partitions; 10 s by default. Every process
	// writes once per third of it.
	LeaseTTL time.Duration
	// Logger logs background errors; slog.Default() by default.
	Logger *slog.Logger
}

// scheme opens sqlite:// URLs.
type scheme struct{ cfg Config }

// Scheme returns the scheme sqlite://relative/path.db or sqlite:///absolute/path.db. The file
// and its tables are created if they do not exist; the folder is not.
//
// Parameters: partitions (3), retention (72h), synchronous (full or normal; without effect where
// Config.DB is used).
func Scheme(cfg Config) bus.Scheme { return scheme{cfg} }

func (scheme) Names() []string { return []string{"sqlite"} }

func (s scheme) Open(ctx context.Context, u *url.URL) (driver.Driver, error) {
	path, err := pathOf(u)
	if err != nil {
		return nil, err
	}
	cfg := s.cfg
	params := driver.NewParams(u)
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

// pathOf returns the file of the URL. The part that looks like a host is the first part of a
// relative path.
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
