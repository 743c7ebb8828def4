// Package outboxbench measures outbox relays side by side: ours, watermill-sql
// with its forwarder, and River, on one PostgreSQL, in one run, interleaved.
//
// Each system lives in a schema of its own, relays into a publisher that only
// counts, and is judged by the same two measures: how fast it drains a backlog,
// and how long after a commit an event is published while another process
// appends at a steady rate.
package outboxbench

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/pgdb"
)

// Sink receives what a relay publishes: the event's id, or its number. It must
// be safe for concurrent use.
type Sink func(id string)

// system is one outbox implementation under measurement.
type system interface {
	// name is what reports call it.
	name() string
	// fill makes the schema afresh with n committed events of the given payload.
	fill(ctx context.Context, n int, payload []byte) error
	// relay publishes into sink until ctx is done.
	relay(ctx context.Context, sink Sink) error
	// appender returns what appends one event in a transaction of its own and
	// returns its id after the commit.
	appender(ctx context.Context) (appendOne func(payload []byte) (id string, err error), done func(), err error)
}

// database is a system's schema.
type database struct {
	schema string
	url    string // with search_path
	admin  string
}

func newDatabase(base, schema string) (database, error) {
	u, err := url.Parse(base)
	if err != nil {
		return database{}, fmt.Errorf("the PostgreSQL URL does not parse")
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return database{schema: schema, url: u.String(), admin: base}, nil
}

func (d database) open() (*sql.DB, error) { return pgdb.Open(d.url) }

// recreate drops and makes the schema.
func (d database) recreate(ctx context.Context) error {
	if err := d.drop(ctx); err != nil {
		return err
	}
	return d.exec(ctx, "CREATE SCHEMA "+d.schema)
}

func (d database) drop(ctx context.Context) error {
	return d.exec(ctx, "DROP SCHEMA IF EXISTS "+d.schema+" CASCADE")
}

func (d database) exec(ctx context.Context, statements ...string) error {
	db, err := pgdb.Open(d.admin)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // a side connection
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", strings.SplitN(s, "\n", 2)[0], err)
		}
	}
	return nil
}

// counter is a publisher that hands ids to a sink and keeps nothing.
type counter struct{ sink Sink }

func (c counter) Publish(_ string, messages ...*message.Message) error {
	for _, m := range messages {
		c.sink(m.UUID)
	}
	return nil
}

func (counter) Close() error { return nil }

// settle lets the server finish what a fill left behind, so that it does not
// bill the next measurement, and gathers the statistics that autovacuum would
// have gathered within a minute. Every system gets the same.
func settle(ctx context.Context, base string) error {
	return database{admin: base}.exec(ctx, "ANALYZE", "CHECKPOINT")
}

// deadline bounds one measurement of a system.
const deadline = 3 * time.Minute
