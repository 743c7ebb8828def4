package sqlidempotency

import (
	"fmt"
	"regexp"

	"github.com/millrace-go/millrace/sqltx"
)

// dialect is a dialect with its differences.
type dialect sqltx.Dialect

const (
	postgres = dialect(sqltx.Postgres)
	sqlite   = dialect(sqltx.SQLite)
	mysql    = dialect(sqltx.MySQL)
)

// The layouts of the table, and their names without a Config.Table.
const (
	eventHandled    = "event_handled"
	processedEvents = "processed_events"
)

// Config configures a store of [New] or [NewLeases].
type Config struct {
	// Dialect of the database; required, since a *sql.DB does not reveal it.
	Dialect sqltx.Dialect
	// ProcessedEvents gives the table the layout processed_events, which other services read by
	// event id, in the place of event_handled; the package comment has the columns of both. Leases
	// have one layout.
	ProcessedEvents bool
	// Table is the table's name; when empty, event_handled or processed_events, and for leases
	// idempotency_leases. A store and its leases are two tables. Lower-case letters, digits and
	// _, at most 28, without a schema: set the search path on the connection instead. Each name
	// has its own version table.
	Table string
}

// The name goes into SQL text unquoted, so it must be plain; and the names derived from it must
// stay below PostgreSQL's 63 bytes.
var tableName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,27}$`)

func (c Config) validate() error {
	if d := dialect(c.Dialect); d != postgres && d != sqlite && d != mysql {
		return fmt.Errorf("sqlidempotency: Config.Dialect is %q; use sqltx.Postgres, sqltx.MySQL or sqltx.SQLite", string(d))
	}
	if !tableName.MatchString(c.Table) {
		return fmt.Errorf("sqlidempotency: Config.Table is %q; use lower-case letters, digits and _, at most 28", c.Table)
	}
	return nil
}

func (c Config) layout() string {
	if c.ProcessedEvents {
		return processedEvents
	}
	return eventHandled
}
