package mysqlbus

import (
	"context"
	"database/sql"
	"log/slog"
	"net/url"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log/logbus"
	"github.com/millrace-go/millrace/internal/mysqldb"
)

// Config of the scheme. The zero value works.
type Config struct {
	// DB is the application's own pool, opened with github.com/go-sql-driver/mysql. If it is on
	// the database of the URL, Publish takes part in the application's transactions; with
	// ?mode=tx messages are delivered in transactions of this pool. The bus does not close it.
	DB *sql.DB
	// Partitions of an undeclared topic; 3 by default. The URL's ?partitions=N takes precedence.
	// With more partitions, more instances can share a group.
	Partitions int
	// Retention of messages that every group has acknowledged; 72 h by default. The URL's
	// ?retention=D takes precedence. A longer retention costs disk space.
	Retention time.Duration
	// Poll is the interval at which an idle process looks for messages of other processes, 100
	// ms by default, and shorter while messages arrive; with ?mode=tx the interval of an idle
	// group, 200 ms by default. The URL's ?poll=D takes precedence. A shorter interval costs
	// queries. Messages that a process publishes itself wake its own readers at once.
	Poll time.Duration
	// LeaseTTL is how long a killed process keeps its partitions; 10 s by default. Every process
	// writes once per third of it.
	LeaseTTL time.Duration
	// Holder names this process to the others, and is the same after every restart; a random
	// name by default. A killed process then gets its partitions back as soon as it restarts,
	// instead of after LeaseTTL. Only one live process may have the name: two would repeatedly
	// take the partitions from each other, which loses nothing but repeats messages.
	Holder string
	// Connections is the most that the bus opens; 16 by default. One of them polls.
	Connections int
	// Logger logs background errors; slog.Default() by default.
	Logger *slog.Logger
}

// scheme opens mysql:// URLs.
type scheme struct{ cfg Config }

// Scheme returns the scheme mysql://user:password@host:port/database?…, for MySQL and MariaDB.
// Open does not connect: the first use does, and creates missing tables.
//
// Parameters of the bus: partitions (3), retention (72h), poll (100ms), mode (log, or tx; see
// the package's doc). Those of the connection are listed in the package's doc.
func Scheme(cfg Config) bus.Scheme { return scheme{cfg} }

// parameters lists the parameters of a URL that are passed on to the connection.
func parameters() []string {
	return []string{
		"compress", "connectionAttributes", "innodb_lock_wait_timeout", "lock_wait_timeout", "maxAllowedPacket",
		"readTimeout", "timeout", "tls", "tls-ca", "tls-cert", "tls-key", "writeTimeout",
	}
}

func (scheme) Names() []string { return []string{"mysql"} }

func (s scheme) Open(_ context.Context, u *url.URL) (driver.Driver, error) {
	return logbus.Settings(s.cfg).Open(u, logbus.Server{Scheme: "mysql", Parameters: parameters(), Pool: mysqldb.Open, Log: openLog, Tx: openTx})
}
