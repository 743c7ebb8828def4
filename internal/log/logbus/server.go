package logbus

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

// Settings are the Config of a transport on a database server, whose package documents them.
type Settings struct {
	DB          *sql.DB
	Partitions  int
	Retention   time.Duration
	Poll        time.Duration
	LeaseTTL    time.Duration
	Holder      string
	Connections int
	Logger      *slog.Logger
}

// Server is a kind of database server.
type Server struct {
	// Scheme is that of the URLs which Pool takes.
	Scheme string
	// Parameters of a URL are passed on to the connection.
	Parameters []string
	// Pool opens a pool, without connecting.
	Pool func(url string) (*sql.DB, error)
	// Log and Tx open the transport in one of its modes, and close the pool when they fail.
	Log func(pool *sql.DB, s Settings) (driver.Driver, error)
	Tx  func(url string, pool *sql.DB, s Settings) (driver.Driver, error)
}

// Open opens a URL of the server.
func (s Settings) Open(u *url.URL, server Server) (driver.Driver, error) {
	params := driver.NewParams(u)
	mode := params.String("mode", "log")
	s.Poll = params.Duration("poll", s.Poll)
	if mode != "tx" {
		s.Partitions = params.Int("partitions", s.Partitions, 1)
		s.Retention = params.Duration("retention", s.Retention)
	}
	connection := url.Values{}
	for _, name := range server.Parameters {
		if value := params.String(name, ""); value != "" {
			connection.Set(name, value)
		}
	}
	switch err := params.Err(); {
	case err != nil:
		return nil, err
	case s.Connections < 0 || s.Connections == 1:
		return nil, fmt.Errorf("Config.Connections is %d; give at least 2, since one of them waits for changes, or 0 for the default 16", s.Connections)
	case s.Poll < 0:
		return nil, errors.New("Config.Poll is negative; give a positive duration, or 0 for the default")
	}
	s.Connections = cmp.Or(s.Connections, 16)
	s.Logger = cmp.Or(s.Logger, slog.Default())
	at := *u
	// In libpq's URLs, and so pgx's, a plus is not a space.
	query := strings.ReplaceAll(connection.Encode(), "+", "%20")
	at.Scheme, at.RawQuery, at.Fragment = server.Scheme, query, ""
	pool, err := server.Pool(at.String())
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(s.Connections)
	switch mode {
	case "log":
		return server.Log(pool, s)
	case "tx":
		return server.Tx(at.String(), pool, s)
	}
	return nil, errors.Join(
		fmt.Errorf("parameter \"mode\" is %q; give log, or tx for Watermill SQL with its offset in the handler's transaction", mode),
		pool.Close())
}

// Hub is the configuration of the hub.
func (s Settings) Hub() logsub.Config {
	return logsub.Config{
		Partitions: s.Partitions, Retention: s.Retention, LeaseTTL: s.LeaseTTL, Holder: s.Holder, Logger: s.Logger,
	}
}
