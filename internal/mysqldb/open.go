package mysqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/millrace-go/millrace/internal/rawurl"
	"github.com/millrace-go/millrace/internal/tlshint"
)

// dialTimeout bounds a connect whose context has no deadline.
const dialTimeout = 10 * time.Second

// Open returns a pool on the database of the URL: mysql://user:password@host:port/name. It does
// not connect. The pool holds at most 16 connections, idle ones for 5 minutes; you can change
// that on the result. The caller closes it.
//
// Parameters of the URL:
//
//	tls=true|skip-verify|preferred  encrypt; verify the server unless told otherwise
//	tls-ca=FILE                     trust this authority (PEM) instead of the system's
//	tls-cert=FILE&tls-key=FILE      show this certificate to the server
//	timeout, readTimeout, writeTimeout, maxAllowedPacket, compress, …
//	                                as in github.com/go-sql-driver/mysql
//	anything else                   a variable of the session, such as lock_wait_timeout=5
//
// Every connection reads at READ COMMITTED: a statement sees the rows that were committed when
// it began, and locks no gaps. Its time zone is UTC; its strings are utf8mb4, compared byte by
// byte; a statement outside a transaction commits, even where the server's autocommit is off; and
// values that do not fit are errors, even where the server's sql_mode would truncate them.
func Open(rawURL string) (*sql.DB, error) {
	c, err := Connector(rawURL)
	if err != nil {
		return nil, err
	}
	return Pool(c), nil
}

// Connector is Open for callers that wrap the connector in one of their own; [Pool] makes the
// pool of it.
func Connector(rawURL string) (driver.Connector, error) {
	cfg, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	inner, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("mysqldb: %w", err)
	}
	return connector{inner, cfg.Addr, cfg.TLS == nil}, nil
}

// Pool returns the pool that Open describes.
func Pool(c driver.Connector) *sql.DB {
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db
}

func parse(rawURL string) (*mysql.Config, error) {
	if rawURL == "" {
		return nil, errors.New("mysqldb: the URL is empty; give one like mysql://user:password@host:3306/name")
	}
	u, err := rawurl.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("mysqldb: %w; it is like mysql://user:password@host:3306/name", err)
	}
	if u.Scheme != "mysql" && u.Scheme != "mariadb" {
		return nil, fmt.Errorf("mysqldb: the URL's scheme is %q; use mysql://", u.Scheme)
	}
	name := strings.TrimPrefix(u.Path, "/")
	if u.Hostname() == "" || name == "" || strings.Contains(name, "/") {
		return nil, errors.New("mysqldb: the URL must name a host and one database: mysql://user:password@host:3306/name")
	}
	params, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("mysqldb: the URL's parameters cannot be parsed; percent-encode special characters")
	}
	secured, err := takeTLS(params, u.Hostname())
	if err != nil {
		return nil, err
	}
	// The driver knows its own parameters; it reads them from a DSN.
	cfg, err := mysql.ParseDSN("/?" + params.Encode())
	if err != nil {
		return nil, fmt.Errorf("mysqldb: the URL's parameters: %w", rawurl.Hide(err, rawURL))
	}
	cfg.Net, cfg.Addr, cfg.DBName = "tcp", u.Host, name
	if u.Port() == "" {
		cfg.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	if secured != nil {
		cfg.TLS = secured
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = dialTimeout
	}
	if !params.Has("maxAllowedPacket") {
		cfg.MaxAllowedPacket = 0 // ask the server
	}
	cfg.ParseTime, cfg.Loc = true, time.UTC
	cfg.Collation = "utf8mb4_bin"
	cfg.ClientFoundRows = true
	// One round trip for a statement instead of two.
	cfg.InterpolateParams = true
	// The errors have the details; the driver would print them as well.
	cfg.Logger = &mysql.NopLogger{}
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	cfg.Params["autocommit"] = "1"
	cfg.Params["time_zone"] = "'+00:00'"
	cfg.Params["sql_mode"] = "CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')"
	return cfg, nil
}

// connector sets the isolation level of new connections. Its variable has different names on
// MySQL 8 and MariaDB 10, so the driver cannot set it. When the server refuses the TLS settings,
// the error names the parameter to correct.
type connector struct {
	driver.Connector
	server string
	plain  bool // without TLS
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	switch {
	case c.plain && (is(err, 1045) || is(err, 3159)): // MariaDB reports both as access denied
		return nil, tlshint.Plain(err, c.server, "tls=true")
	case err != nil:
		return nil, tlshint.Untrusted(err, c.server, "tls-ca=")
	}
	const level = `SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED`
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, level, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("mysqldb: set the isolation level: %w", err), conn.Close())
	}
	return conn, nil
}
