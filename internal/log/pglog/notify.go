package pglog

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/pgdb"
)

// ErrNoListen is returned by Listen when the pool is not pgx's own, so that a
// connection cannot wait for notifications.
var ErrNoListen = errors.New("pglog: LISTEN needs a pool opened with pgx's database/sql driver")

// ErrOneConnection is returned by Listen when the pool has one connection: it would wait for
// notifications for ever, and no other statement could run.
var ErrOneConnection = errors.New("pglog: LISTEN keeps a connection and the pool has one only; allow two or more, or poll")

// ErrPooler is returned by Listen when a pooler such as PgBouncer stands before the server. In
// transaction mode a statement runs on any connection of the server, so that notifications reach
// another client or none; PgBouncer 1.18 ends when it gets one for no client.
var ErrPooler = errors.New("pglog: LISTEN does not work through a pooler such as PgBouncer; for wake-ups give a URL that leads to the server itself, else poll; " +
	"in transaction mode the pooler's URL needs default_query_exec_mode=exec")

var reconnect = backoff.Policy{Initial: 100 * time.Millisecond, Max: 5 * time.Second, Multiplier: 2, Jitter: 0.2}

// Channel is the name that Notify and Listen use. PostgreSQL's limit is 63 bytes.
func (l *Log) Channel() string {
	const most = 63
	name := "millrace_"
	if l.tables.Schema != "" {
		name += l.tables.Schema + "_"
	}
	if name += l.tables.Messages; len(name) > most {
		return fmt.Sprintf("millrace_%x", sha256.Sum224([]byte(name)))[:most]
	}
	return name
}

// Notify tells every listening process that rows were committed. Call it after the commit,
// outside the writer's transaction: NOTIFY takes a database-wide lock while its transaction
// commits.
func (l *Log) Notify(ctx context.Context) error { return l.NotifyText(ctx, "") }

// NotifyText is Notify with up to 7,999 bytes of text for the listeners.
func (l *Log) NotifyText(ctx context.Context, text string) error {
	// A notification writes a commit record. It is not needed on the disk, and flushing it would
	// delay the commits of others.
	const notify = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`
	if _, err := l.db.ExecContext(ctx, notify, l.Channel(), text); err != nil {
		return fmt.Errorf("pglog: notify: %w", err)
	}
	return nil
}

// Listen calls wake for every notification until ctx is done, and once after each (re)connect,
// for missed notifications. It keeps one connection of the pool, which sends no statement while
// it waits.
func (l *Log) Listen(ctx context.Context, wake func()) error {
	return l.ListenText(ctx, func(string) { wake() })
}

// ListenText is Listen with the text of each notification; "" after a (re)connect.
func (l *Log) ListenText(ctx context.Context, wake func(text string)) error {
	if l.db.Stats().MaxOpenConnections == 1 {
		return ErrOneConnection
	}
	for attempt := 0; ; attempt++ {
		err := l.listen(ctx, func(text string) { attempt = 0; wake(text) })
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, ErrNoListen) || errors.Is(err, ErrPooler) {
			return err
		}
		timer := time.NewTimer(reconnect.Delay(attempt + 1))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

func (l *Log) listen(ctx context.Context, wake func(text string)) error {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // Raw has already condemned the connection
	return conn.Raw(func(driverConn any) error {
		c, ok := pgdb.Conn(driverConn)
		if !ok {
			return ErrNoListen
		}
		if err := checkDirect(ctx, c); err != nil {
			return err
		}
		defer hangUp(c) // it still listens, and must not go back to a pool
		if _, err := c.Exec(ctx, "LISTEN "+l.Channel()); err != nil {
			return errors.Join(driver.ErrBadConn, err)
		}
		for text := ""; ; {
			wake(text)
			n, err := c.WaitForNotification(ctx)
			if err != nil {
				return errors.Join(driver.ErrBadConn, err)
			}
			text = n.Payload
		}
	})
}

// checkDirect returns ErrPooler if the process that answers is not the one that the connection
// was made with: a pooler makes up that process's id.
func checkDirect(ctx context.Context, c *pgx.Conn) error {
	var answers uint32
	if err := c.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&answers); err != nil {
		return errors.Join(driver.ErrBadConn, err)
	}
	if answers != c.PgConn().PID() {
		return ErrPooler
	}
	return nil
}

// hangUp closes a connection, so that it returns to no pool: neither that of database/sql nor a
// pgxpool below it.
func hangUp(c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.Close(ctx) //nolint:errcheck // it is gone in any case
}
