package txbus

import (
	"context"
	"database/sql"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
)

// Dialect has the parts that depend on the database.
type Dialect interface {
	// Schema and Offsets are Watermill SQL's adapters.
	Schema() wmsql.SchemaAdapter
	Offsets() wmsql.OffsetsAdapter

	// Check returns an error if the database, which answers, lacks a required feature.
	Check(ctx context.Context, db *sql.DB) error
	// Prepare makes the topic's tables. It is idempotent.
	Prepare(ctx context.Context, db *sql.DB, topic string) error
	// Join makes the group's row of the topic, at the beginning. It is idempotent.
	Join(ctx context.Context, db *sql.DB, topic, group string) error
	// TablesQuery lists the names of the database's tables that are LIKE its argument.
	TablesQuery() string
	// Groups lists the groups of a topic with the number of their unacknowledged messages,
	// counted up to limit, and the time at which the oldest was published.
	Groups(ctx context.Context, db *sql.DB, topic string, limit int) ([]Backlog, error)
	// NewestQuery selects uuid, payload and metadata of the newest messages of a topic, newest
	// first.
	NewestQuery(topic string, limit int) wmsql.Query
	// PendingQuery selects the same of the oldest unacknowledged messages of a group, or of the
	// topic if the group does not exist, oldest first.
	PendingQuery(topic, group string, limit int) wmsql.Query
	// IsMissing reports whether the error of a query is that the topic was not prepared.
	IsMissing(err error) bool
	// Arrange prepares committed messages for reading, and returns how many. It is called when a
	// group has found no message.
	Arrange(ctx context.Context, db *sql.DB, topic string) (int, error)
}

// Backlog tells how far one group is behind.
type Backlog struct {
	Group    string
	Messages int
	Oldest   time.Time
}
