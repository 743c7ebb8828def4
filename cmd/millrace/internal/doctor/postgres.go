package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
)

func (e *examination) postgres(ctx context.Context, u *url.URL) {
	raw := database.Plain(e.target.URL)
	cfg, err := pgx.ParseConfig(raw)
	if err != nil {
		e.unusable(err, "write postgres://user:password@host:5432/database?sslmode=require")
		return
	}
	var addresses []string
	for _, at := range append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port}}, cfg.Fallbacks...) {
		address := net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))
		if !strings.HasPrefix(at.Host, "/") && !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	e.sqlServer(ctx, addresses, "write postgres://user:password@host:5432/database",
		func(err error) { e.postgresRefused(strings.Join(addresses, ", "), cfg, err) },
		func(db *sql.DB) { e.postgresServer(ctx, db, cfg) })
}

// postgresRefused reports why a listening server refuses the sign-in.
func (e *examination) postgresRefused(where string, cfg *pgx.ConnConfig, err error) {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		switch server.Code {
		case "28P01":
			e.add(Error, "authentication", fmt.Sprintf("the password of user %q is wrong, or there is no such user", cfg.User),
				"correct user and password in the URL, percent-encoded; or ALTER ROLE … PASSWORD")
		case "28000":
			e.add(Error, "authentication", "the server lets this user not in from here: "+e.quoted(server.Message),
				"add a line for it to pg_hba.conf and reload, or create the role; a line that says hostssl wants sslmode=require")
		case "3D000":
			e.add(Error, "database", fmt.Sprintf("there is no database %q", cfg.Database), "CREATE DATABASE …, or correct the URL's path")
		case "42501":
			e.add(Error, "authentication", "this user may not connect to the database: "+e.quoted(server.Message), "GRANT CONNECT ON DATABASE … TO …")
		case "53300":
			e.add(Error, "connections", "the server has no connection left", "raise max_connections, or put a pooler before it, or lower the pools of its clients")
		case "57P03":
			e.add(Error, "answers", "the server is starting, stopping or recovering: "+e.quoted(server.Message), "wait; the server's log says how far it is")
		default:
			e.add(Error, "answers", fmt.Sprintf("the server refuses: %s (%s)", e.quoted(server.Message), server.Code), "the server's log says more")
		}
		return
	}
	switch {
	case strings.Contains(err.Error(), "server refused TLS connection"):
		e.add(Error, "tls", "the server does not speak TLS and the URL asks for it", "turn ssl on in postgresql.conf, or use sslmode=disable on a trusted network")
	case !e.connecting(where, "sslrootcert=FILE", err):
		e.add(Error, "answers", fmt.Sprintf("the connection fails: %s", e.said(err)), "the server's log says more")
	}
}

// postgresState is a server's description of itself.
type postgresState struct {
	version                      string
	number                       int
	fsync, commits, pages        string
	standby, readOnly, encrypted bool
	used, most                   int
	now                          time.Time
	lap                          lap
}

// postgresServer asks a server about itself.
func (e *examination) postgresServer(ctx context.Context, db *sql.DB, cfg *pgx.ConnConfig) {
	ctx, cancel := e.within(ctx)
	defer cancel()
	var s postgresState
	s.lap.asked = time.Now()
	err := db.QueryRowContext(ctx, `SELECT clock_timestamp()`).Scan(&s.now)
	s.lap.answered = time.Now()
	if err == nil {
		err = db.QueryRowContext(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::int,
			current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes'),
			pg_is_in_recovery(), current_setting('transaction_read_only')::boolean,
			coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
			(SELECT count(*) FROM pg_stat_activity), current_setting('max_connections')::int`).
			Scan(&s.version, &s.number, &s.fsync, &s.commits, &s.pages, &s.standby, &s.readOnly, &s.encrypted, &s.used, &s.most)
	}
	if err != nil {
		e.add(Error, "answers", fmt.Sprintf("the server does not say how it is set up: %s", e.said(err)), "connect to PostgreSQL itself, not to a pooler's console")
		return
	}
	e.judgePostgres(s)
	if !s.encrypted {
		e.exposed(cfg.Host, cfg.Password != "", "turn ssl on in postgresql.conf, and use sslmode=verify-full")
	}
	e.clock("", s.now, s.lap)
}

func (e *examination) judgePostgres(s postgresState) {
	if s.number < 130000 {
		e.add(Error, "version", "PostgreSQL "+s.version+" is too old", "upgrade to 13 or newer")
	} else {
		e.ok("version", "PostgreSQL %s, %s away", s.version, s.lap.took())
	}
	if s.fsync == "off" {
		e.add(Error, "fsync", "fsync is off: when the machine stops, the database is lost or damaged", "fsync = on in postgresql.conf, then reload")
	}
	switch {
	case s.commits == "off":
		e.add(Error, "synchronous_commit", "synchronous_commit is off: when the server stops, what it has just committed is lost",
			"synchronous_commit = on, in postgresql.conf or where it was set: ALTER ROLE, ALTER DATABASE, or the URL's options")
	case s.fsync == "on":
		e.ok("durable", "a commit is on disk")
	}
	if s.pages == "off" {
		e.add(Warning, "full_page_writes", "full_page_writes is off: a page that is half written when the machine stops stays so", "full_page_writes = on, unless the file system writes pages whole")
	}
	if s.standby {
		e.add(Error, "writable", "the server is a standby and takes no writes", "connect to the primary, or give all hosts and target_session_attrs=read-write")
	} else if s.readOnly {
		e.add(Error, "writable", "transactions of this user are read-only", "default_transaction_read_only = off for the user or the database")
	}
	e.crowded(s.used, s.most, "raise max_connections, or put a pooler before it")
}
