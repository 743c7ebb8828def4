package pgbus

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log/logbus"
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

// scheme opens postgres:// URLs.
type scheme struct{ cfg Config }

// Scheme returns postgres:// and postgresql://, which are equivalent, as in libpq:
// postgres://user:password@host:port/database?…. Open does not connect: the first use does, and
// creates missing tables.
//
// Parameters of the bus: partitions (3), retention (72h), poll (1s), mode (log, or tx; see the
// package's doc). Those of the connection are listed in the
// package's doc.
func Scheme(cfg Config) bus.Scheme { return scheme{cfg} }

// parameters lists the parameters of a URL that are passed on to the connection: libpq's names,
// as far as pgx knows them, and pgx's default_query_exec_mode, which a pooler needs. A password
// belongs before the host.
func parameters() []string {
	return []string{
		"application_name", "client_encoding", "connect_timeout", "default_query_exec_mode", "lock_timeout", "options", "passfile",
		"search_path", "sslcert", "sslkey", "sslmode", "sslnegotiation", "sslrootcert", "sslsni",
		"statement_timeout", "target_session_attrs", "timezone",
	}
}

func (scheme) Names() []string { return []string{"postgres", "postgresql"} }

func (s scheme) Open(_ context.Context, u *url.URL) (driver.Driver, error) {
	if u.Host == "" || len(u.Path) < 2 {
		return nil, errors.New("the URL names no host or no database; write postgres://user:password@host:5432/database")
	}
	return logbus.Settings(s.cfg).Open(u, logbus.Server{Scheme: "postgres", Parameters: parameters(), Pool: pgdb.Open, Log: openLog, Tx: openTx})
}
