package txbus

import (
	"context"
	"database/sql"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/onedb"
)

// Dialect has the parts that depend on the database.
type Dialect interface {
	// Schema and Offsets are Watermill SQL's adapters.
	Schema() wmsql.SchemaAdapter
	Offsets() wmsql.OffsetsAdapter

	// Check returns an error if the database lacks a required feature.
	Check(ctx context.Context, db *sql.DB) error
	// Same is passed to [onedb.New].
	Same(ctx context.Context, db *sql.DB, app onedb.Querier) (bool, error)
	// Prepare makes the topic's tables. It is idempotent.
	Prepare(ctx context.Context, db *sql.DB, topic string) error
	// Join makes the group's row of the topic, at the beginning. It is idempotent.
	Join(ctx context.Context, db *sql.DB, topic, group string) error
	// Topics lists the topics that have tables.
	Topics(ctx context.Context, db *sql.DB) ([]string, error)
	// Groups lists the groups of a topic with the number of their unacknowledged messages,
	// counted up to limit, and the time at which the oldest was published.
	Groups(ctx context.Context, db *sql.DB, topic string, limit int) ([]Backlog, error)
	// Newest returns the newest messages of a topic, newest last, and none for a topic that does
	// not exist.
	Newest(ctx context.Context, db *sql.DB, topic string, limit int) ([]*message.Message, error)
	// Pending returns the oldest unacknowledged messages of a group, or of the topic if the
	// group does not exist, and none for a topic that does not exist.
	Pending(ctx context.Context, db *sql.DB, topic, group string, limit int) ([]*message.Message, error)
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
