// Package pair starts a primary database server with an asynchronous replica, and fails over
// from one to the other, for drills and stress runs.
//
//	p, err := pair.Start(ctx, "mysql")
//	…            // clients use p.URL, an address that stays
//	p.Lag(ctx)   // from here on the replica receives nothing
//	…            // commits that the replica does not have
//	p.Promote(ctx) // the replica takes writes, and p.URL leads to it
//
// The command in MILLRACE_PAIR starts the servers; scripts/services.sh has it as `pair`. "up
// NAME" makes both with empty data and prints their two URLs, "down NAME" ends them, "freeze
// NAME" copies the primary's data at one moment, and "lose NAME" kills the primary and starts it
// with the copy. Everything that depends on the database is SQL in this package.
package pair

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/tcpproxy"
)

// Env is the variable with the command that starts and ends pairs.
const Env = "MILLRACE_PAIR"

// ErrNoCommand is returned by Start where Env is not set.
var ErrNoCommand = errors.New(Env + ` is not set: set it to a command that starts a primary and a replica, e.g. "$PWD/scripts/services.sh pair"`)

// Pair is a primary and its replica.
type Pair struct {
	// Name is postgres, mariadb or mysql.
	Name string
	// Primary and Replica are the servers' own URLs. URL leads to the primary, and
	// after Promote to the former replica.
	Primary, Replica, URL string

	words replication
	proxy *tcpproxy.Proxy
}

// Start makes both servers with empty data and waits until the replica follows.
func Start(ctx context.Context, name string) (*Pair, error) {
	words, ok := databases[name]
	if !ok {
		return nil, fmt.Errorf("pair: there is no %q; use postgres, mariadb or mysql", name)
	}
	out, err := run(ctx, "up", name)
	if err != nil {
		return nil, err
	}
	urls := strings.Fields(out)
	if len(urls) != 2 {
		return nil, fmt.Errorf("pair: the command printed %q instead of two URLs", out)
	}
	p := &Pair{Name: name, Primary: urls[0], Replica: urls[1], words: words}
	primary, err := url.Parse(p.Primary)
	if err == nil {
		p.proxy, err = tcpproxy.Start(primary.Host)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	primary.Host = p.proxy.Addr()
	p.URL = primary.String()
	return p, nil
}

// Close ends both servers.
func (p *Pair) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	if p.proxy != nil {
		err = p.proxy.Close()
	}
	_, down := run(ctx, "down", p.Name)
	return errors.Join(err, down)
}

// Lag ends the replica's connection to the primary. It returns when nothing more
// can reach the replica.
func (p *Pair) Lag(ctx context.Context) error {
	return p.onReplica(ctx, p.words.lag, p.words.lagging)
}

// Promote makes the replica a primary that accepts writes, redirects p.URL to it, and cuts the
// connections to the old primary, which keeps running.
func (p *Pair) Promote(ctx context.Context) error {
	if err := p.onReplica(ctx, p.words.promote, p.words.promoted); err != nil {
		return err
	}
	replica, err := url.Parse(p.Replica)
	if err != nil {
		return err
	}
	p.proxy.Redirect(replica.Host)
	return nil
}

// Freeze copies the present contents of the primary's disk. Only MariaDB and MySQL.
func (p *Pair) Freeze(ctx context.Context) error {
	_, err := run(ctx, "freeze", p.Name)
	return err
}

// Lose kills the primary and starts it again with the copy of Freeze: the state of a machine
// with periodic flushes after a power failure.
func (p *Pair) Lose(ctx context.Context) error {
	_, err := run(ctx, "lose", p.Name)
	return err
}

// Open makes a pool on one of the pair's URLs.
func (p *Pair) Open(url string) (*sql.DB, error) {
	if p.Name == "postgres" {
		return pgdb.Open(url)
	}
	return mysqldb.Open(url)
}

// onReplica runs statements on the replica, then polls until the answer is 1.
func (p *Pair) onReplica(ctx context.Context, statements []string, asked string) error {
	db, err := p.Open(p.Replica)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // a side connection
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("pair: %s: %w", s, err)
		}
	}
	for {
		var done int
		err := db.QueryRowContext(ctx, asked).Scan(&done)
		if err == nil && done == 1 {
			return nil
		}
		if backoff.Sleep(ctx, 20*time.Millisecond) != nil {
			return fmt.Errorf("pair: %s: %w (%v)", asked, ctx.Err(), err)
		}
	}
}

// replication has the statements with which a database stops receiving and takes over, and a
// query whose answer is 1 when it has.
type replication struct {
	lag, promote      []string
	lagging, promoted string
}

var databases = map[string]replication{
	"postgres": {
		lag:      []string{`ALTER SYSTEM SET primary_conninfo = ''`, `SELECT pg_reload_conf()`},
		lagging:  `SELECT (NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver))::int`,
		promote:  []string{`SELECT pg_promote(true, 60)`},
		promoted: `SELECT (NOT pg_is_in_recovery())::int`,
	},
	"mysql": {
		lag:      []string{`STOP REPLICA IO_THREAD`},
		lagging:  `SELECT 1`,
		promote:  []string{`STOP REPLICA`, `RESET REPLICA ALL`, `SET GLOBAL super_read_only = OFF`, `SET GLOBAL read_only = OFF`},
		promoted: `SELECT 1 - @@global.read_only`,
	},
	"mariadb": {
		lag:      []string{`STOP SLAVE IO_THREAD`},
		lagging:  `SELECT 1`,
		promote:  []string{`STOP SLAVE`, `RESET SLAVE ALL`, `SET GLOBAL read_only = OFF`},
		promoted: `SELECT 1 - @@global.read_only`,
	},
}

// run calls the command and returns its output.
func run(ctx context.Context, args ...string) (string, error) {
	command := strings.Fields(os.Getenv(Env))
	if len(command) == 0 {
		return "", ErrNoCommand
	}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("pair: %s %s: %w\n%s", strings.Join(command, " "), strings.Join(args, " "), err, said.String())
	}
	return string(out), nil
}
