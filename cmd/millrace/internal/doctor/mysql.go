package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

func (e *examination) mysql(ctx context.Context, u *url.URL) {
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	where := net.JoinHostPort(u.Hostname(), port)
	e.sqlServer(ctx, []string{where}, "write mysql://user:password@host:3306/database",
		func(err error) { e.mysqlRefused(where, u, err) },
		func(db *sql.DB) { e.mysqlServer(ctx, db, u) })
}

// mysqlRefused reports why a listening server refuses the sign-in.
func (e *examination) mysqlRefused(where string, u *url.URL, err error) {
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		switch server.Number {
		case 1045, 1698:
			e.add(Error, "authentication", fmt.Sprintf("the server does not let user %q in: the password is wrong, there is no such user, or not from this machine", u.User.Username()),
				"correct user and password in the URL, percent-encoded; or CREATE USER '…'@'%'")
		case 1049:
			e.add(Error, "database", fmt.Sprintf("there is no database %q", strings.TrimPrefix(u.Path, "/")), "CREATE DATABASE …, or correct the URL's path")
		case 1044:
			e.add(Error, "database", "this user may not use the database, or there is none of this name: "+e.quoted(server.Message), "GRANT ALL ON … TO …, or correct the URL's path")
		case 1130:
			e.add(Error, "authentication", "the server does not let this machine in: "+e.quoted(server.Message), "CREATE USER '…'@'…' for this machine's address")
		case 1129:
			e.add(Error, "authentication", "the server has locked this machine out after too many errors", "mariadb-admin flush-hosts (mysqladmin flush-hosts)")
		case 1040, 1203:
			e.add(Error, "connections", "the server has no connection left", "raise max_connections, or lower the pools of its clients")
		default:
			e.add(Error, "answers", fmt.Sprintf("the server refuses: %s (%d)", e.quoted(server.Message), server.Number), "the server's log says more")
		}
		return
	}
	switch {
	case errors.Is(err, mysql.ErrNoTLS):
		e.add(Error, "tls", "the server does not speak TLS and the URL asks for it", "give the server a certificate (ssl_cert, ssl_key), or leave tls out on a trusted network")
	case errors.Is(err, mysql.ErrInvalidConn):
		e.silent(where) // the driver's error for a handshake that did not arrive
	case !e.connecting(where, "tls-ca=FILE", err):
		e.add(Error, "answers", fmt.Sprintf("the connection fails: %s", e.said(err)), "the server's log says more")
	}
}

var leadingVersion = regexp.MustCompile(`^(\d+)\.(\d+)(?:\.(\d+))?`)

// versionOf reads the numbers that a version begins with, as 10.11.6 is 101106.
func versionOf(text string) int {
	m := leadingVersion.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n := 0
	for _, part := range m[1:] {
		i, _ := strconv.Atoi(part) // digits or nothing
		n = 100*n + min(i, 99)
	}
	return n
}

// mysqlState is a server's description of itself.
type mysqlState struct {
	version, engine       string
	flush, binlog, logs   int
	readOnly, doublewrite string
	cipher                string
	used, most            int
	now                   time.Time
	lap                   lap
}

// mysqlServer asks a server about itself.
func (e *examination) mysqlServer(ctx context.Context, db *sql.DB, u *url.URL) {
	ctx, cancel := e.within(ctx)
	defer cancel()
	var s mysqlState
	var name string
	s.lap.asked = time.Now()
	err := db.QueryRowContext(ctx, `SELECT UTC_TIMESTAMP(6)`).Scan(&s.now)
	s.lap.answered = time.Now()
	if err == nil {
		err = db.QueryRowContext(ctx, `SELECT VERSION(), @@default_storage_engine, @@innodb_flush_log_at_trx_commit, @@sync_binlog, @@log_bin,
			@@read_only, @@innodb_doublewrite, @@max_connections`).
			Scan(&s.version, &s.engine, &s.flush, &s.binlog, &s.logs, &s.readOnly, &s.doublewrite, &s.most)
	}
	if err == nil {
		err = db.QueryRowContext(ctx, `SHOW STATUS LIKE 'Ssl_cipher'`).Scan(&name, &s.cipher)
	}
	if err == nil {
		err = db.QueryRowContext(ctx, `SHOW GLOBAL STATUS LIKE 'Threads_connected'`).Scan(&name, &s.used)
	}
	if err != nil {
		e.add(Error, "answers", fmt.Sprintf("the server does not say how it is set up: %s", e.said(err)), "connect to MariaDB or MySQL itself")
		return
	}
	e.judgeMySQL(s)
	if s.cipher == "" {
		_, password := u.User.Password()
		e.exposed(u.Hostname(), password, "give the server a certificate, and use tls=true")
	}
	e.clock("", s.now, s.lap)
}

func (e *examination) judgeMySQL(s mysqlState) {
	product, oldest, least := "MySQL", 80013, "8.0.13"
	if strings.Contains(strings.ToLower(s.version), "mariadb") {
		product, oldest, least = "MariaDB", 100600, "10.6"
	}
	if versionOf(s.version) < oldest {
		e.add(Error, "version", product+" "+s.version+" is too old", "upgrade to "+least+" or newer")
	} else {
		e.ok("version", "%s %s, %s away", product, s.version, s.lap.took())
	}
	if s.flush == 1 {
		e.ok("durable", "a commit is on disk")
	} else {
		e.add(Error, "innodb_flush_log_at_trx_commit", fmt.Sprintf("innodb_flush_log_at_trx_commit is %d: when the server or the machine stops, the last second of commits is lost", s.flush),
			"SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in my.cnf")
	}
	if s.logs == 1 && s.binlog != 1 {
		e.add(Warning, "sync_binlog", fmt.Sprintf("sync_binlog is %d: when the machine stops, replicas and Debezium may miss what was committed", s.binlog), "SET GLOBAL sync_binlog = 1, and in my.cnf")
	}
	if off(s.doublewrite) {
		e.add(Warning, "innodb_doublewrite", "innodb_doublewrite is off: a page that is half written when the machine stops stays so", "innodb_doublewrite = 1, unless the file system writes pages whole")
	}
	if !strings.EqualFold(s.engine, "InnoDB") {
		e.add(Error, "engine", "the default storage engine is "+s.engine+", which may have no transactions", "default_storage_engine = InnoDB")
	}
	if !off(s.readOnly) {
		e.add(Error, "writable", "the server is read-only", "connect to the primary, or SET GLOBAL read_only = 0")
	}
	e.crowded(s.used, s.most, "raise max_connections, or lower the pools of its clients")
}

// off reports whether a variable is off, in any of the spellings of servers.
func off(value string) bool {
	switch strings.ToUpper(value) {
	case "0", "OFF", "FALSE":
		return true
	}
	return false
}
