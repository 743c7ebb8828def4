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
	"github.com/millrace-go/millrace/internal/sqlitedb"
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
	// Holder names this process towards the others, the same after every restart;
	// a random name by default. A process that was killed then goes on with its
	// partitions as soon as it is there again, instead of after LeaseTTL. Only one
	// live process may have the name: two take the partitions from each other
	// again and again, which loses nothing and repeats messages.
	Holder string
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
