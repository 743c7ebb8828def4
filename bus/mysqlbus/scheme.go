package mysqlbus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/mysqldb"
)

// Config of the scheme. The zero value works.
type Config struct {
	// DB is the application's own pool, opened with github.com/go-sql-driver/mysql.
	// Where it turns out to be on the database of the URL, Publish takes part in
	// the application's transactions; with ?mode=tx it also is the pool whose
	// transactions the messages come in. It is not closed.
	DB *sql.DB
	// Partitions of a topic that was not declared; 3 by default. The URL's
	// ?partitions=N comes first. More let more instances share a group.
	Partitions int
	// Retention of messages that every group has passed; 72 h by default. The
	// URL's ?retention=D comes first. A longer one costs disk space.
	Retention time.Duration
	// Poll is how often an idle process looks for what others have published,
	// 100 ms by default, and more often while something comes; with ?mode=tx how
	// often an idle group looks, 200 ms by default. The URL's ?poll=D comes first.
	// A shorter one costs queries. What a process publishes itself wakes its own
	// readers at once.
	Poll time.Duration
	// LeaseTTL is how long a killed process keeps its partitions; 10 s by
	// default. Every process writes each third of it.
	LeaseTTL time.Duration
	// Holder names this process towards the others, the same after every restart;
	// a random name by default. A process that was killed then goes on with its
	// partitions as soon as it is there again, instead of after LeaseTTL. Only one
	// live process may have the name: two take the partitions from each other
	// again and again, which loses nothing and repeats messages.
	Holder string
	// Connections is the most the bus opens; 16 by default. One of them watches.
	Connections int
	// Logger hears of trouble in the background; slog.Default() by default.
	Logger *slog.Logger
}

func (c Config) validate() error {
	switch {
	case c.Connections < 0 || c.Connections == 1:
		return fmt.Errorf("Config.Connections is %d; give at least 2, since one of them watches, or 0 for the default 16", c.Connections)
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

// scheme opens mysql:// URLs.
type scheme struct{ cfg Config }

// Scheme returns the scheme mysql://user:password@host:port/database?…, for
// MySQL and MariaDB. Open does not connect: the first use does, and makes the tables
// where they do not exist.
//
// Parameters of the bus: partitions (3), retention (72h), poll (100ms), mode
// (log, or tx; see the package's doc). Parameters of the connection are passed
// on: those of [Parameters].
func Scheme(cfg Config) bus.Scheme { return scheme{cfg} }

// Parameters are those of a URL that go to the connection.
func Parameters() []string {
	return []string{
		"compress", "connectionAttributes", "innodb_lock_wait_timeout", "lock_wait_timeout", "maxAllowedPacket",
		"readTimeout", "timeout", "tls", "tls-ca", "tls-cert", "tls-key", "writeTimeout",
	}
}

func (scheme) Name() string { return "mysql" }

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
	cfg = cfg.withDefaults()
	at := *u
	at.Scheme, at.RawQuery, at.Fragment = "mysql", connection.Encode(), ""
	pool, err := mysqldb.Open(at.String())
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
