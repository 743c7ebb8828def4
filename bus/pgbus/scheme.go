package pgbus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/pgdb"
)

// Config of the scheme. The zero value works.
type Config struct {
	// DB is the application's own pool, opened with pgx's database/sql driver. If it is on the
	// database and schema of the URL, Publish takes part in the application's transactions; with
	// ?mode=tx messages are delivered in transactions of this pool. The bus does not close it.
	DB *sql.DB
	// Partitions of an undeclared topic; 3 by default. The URL's ?partitions=N takes precedence.
	// With more partitions, more instances can share a group.
	Partitions int
	// Retention of messages that every group has acknowledged; 72 h by default. The URL's
	// ?retention=D takes precedence. A longer retention costs disk space.
	Retention time.Duration
	// Poll is the interval at which an idle partition is read without a notification, 1 s by
	// default; with ?mode=tx the interval of an idle group, 200 ms by default. The URL's ?poll=D
	// takes precedence. A shorter interval costs queries.
	Poll time.Duration
	// LeaseTTL is how long a killed process keeps its partitions; 10 s by default. Every process
	// writes once per third of it.
	LeaseTTL time.Duration
	// Holder names this process to the others, and is the same after every restart; a random
	// name by default. A killed process then gets its partitions back as soon as it restarts,
	// instead of after LeaseTTL. Only one live process may have the name: two would repeatedly
	// take the partitions from each other, which loses nothing but repeats messages.
	Holder string
	// Connections is the most that the bus opens; 16 by default. One of them listens.
	Connections int
	// Logger logs background errors; slog.Default() by default.
	Logger *slog.Logger
}

func (c Config) validate() error {
	switch {
	case c.Connections < 0 || c.Connections == 1:
		return fmt.Errorf("Config.Connections is %d; give at least 2, since one of them listens, or 0 for the default 16", c.Connections)
	case c.Poll < 0:
		return errors.New("Config.Poll is negative; give a positive duration, or 0 for the default")
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Connections == 0 {
		c.Connections = 16
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// scheme opens postgres:// URLs.
type scheme struct {
	name string
	cfg  Config
}

// Schemes returns postgres:// and postgresql://, which are equivalent, as in libpq:
// postgres://user:password@host:port/database?…. Open does not connect: the first use does, and
// creates missing tables.
//
// Parameters of the bus: partitions (3), retention (72h), poll (1s), mode (log, or tx; see the
// package's doc). The parameters in [Parameters] are passed on to the connection.
func Schemes(cfg Config) []bus.Scheme {
	return []bus.Scheme{scheme{"postgres", cfg}, scheme{"postgresql", cfg}}
}

// Scheme returns postgres:// alone; see [Schemes].
func Scheme(cfg Config) bus.Scheme { return scheme{"postgres", cfg} }

// Parameters lists the parameters of a URL that are passed on to the connection: libpq's names,
// as far as pgx knows them, and pgx's default_query_exec_mode, which a pooler needs. A password
// belongs before the host.
func Parameters() []string {
	return []string{
		"application_name", "client_encoding", "connect_timeout", "default_query_exec_mode", "lock_timeout", "options", "passfile",
		"search_path", "sslcert", "sslkey", "sslmode", "sslnegotiation", "sslrootcert", "sslsni",
		"statement_timeout", "target_session_attrs", "timezone",
	}
}

func (s scheme) Name() string { return s.name }

func (s scheme) Open(_ context.Context, u *url.URL) (bus.Driver, error) {
	cfg := s.cfg
	params := bus.NewParams(u)
	mode := params.String("mode", "log")
	cfg.Poll = params.Duration("poll", cfg.Poll)
	if mode != "tx" {
		cfg.Partitions = params.Int("partitions", cfg.Partitions, 1)
		cfg.Retention = params.Duration("retention", cfg.Retention)
	}
	connection := url.Values{}
	for _, name := range Parameters() {
		if value := params.String(name, ""); value != "" {
			connection.Set(name, value)
		}
	}
	if err := params.Err(); err != nil {
		return nil, err
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if u.Host == "" && !connection.Has("host") || len(u.Path) < 2 {
		return nil, errors.New("the URL names no host or no database; write postgres://user:password@host:5432/database")
	}
	cfg = cfg.withDefaults()
	at := *u
	// In libpq's URLs, and so pgx's, a plus is not a space.
	query := strings.ReplaceAll(connection.Encode(), "+", "%20")
	at.Scheme, at.RawQuery, at.Fragment = "postgres", query, ""
	pool, err := pgdb.Open(at.String())
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(cfg.Connections)
	switch mode {
	case "log":
		return openLog(pool, cfg)
	case "tx":
		return openTx(at.String(), pool, cfg)
	}
	return nil, errors.Join(
		fmt.Errorf("parameter \"mode\" is %q; give log, or tx for Watermill SQL with its offset in the handler's transaction", mode),
		pool.Close())
}
