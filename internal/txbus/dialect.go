package txbus

import (
	"context"
	"database/sql"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/onedb"
)

// Dialect is what databases differ in.
type Dialect interface {
	// Schema and Offsets are Watermill SQL's adapters.
	Schema() wmsql.SchemaAdapter
	Offsets() wmsql.OffsetsAdapter

	// Check reports what the database lacks.
	Check(ctx context.Context, db *sql.DB) error
	// Same is that of [onedb.New].
	Same(ctx context.Context, db *sql.DB, app onedb.Querier) (bool, error)
	// Prepare makes the topic's tables. It is idempotent.
	Prepare(ctx context.Context, db *sql.DB, topic string) error
	// Join makes the group's row of the topic, at the beginning. It is idempotent.
	Join(ctx context.Context, db *sql.DB, topic, group string) error
	// Topics lists what there are tables for.
	Topics(ctx context.Context, db *sql.DB) ([]string, error)
	// Groups lists the groups of a topic with how many messages they have not
	// acknowledged, counted up to limit, and when the oldest was published.
	Groups(ctx context.Context, db *sql.DB, topic string, limit int) ([]Backlog, error)
	// Newest returns the newest messages of a topic, newest last, none for one
	// that does not exist.
	Newest(ctx context.Context, db *sql.DB, topic string, limit int) ([]*message.Message, error)
	// Pending returns the oldest messages that a group has not acknowledged, or
	// of all when it does not exist, none for a topic that does not exist.
	Pending(ctx context.Context, db *sql.DB, topic, group string, limit int) ([]*message.Message, error)
	// Arrange does what has to be done before messages that were committed can be
	// read, and returns for how many it was. It is called when a group has found
	// nothing.
	Arrange(ctx context.Context, db *sql.DB, topic string) (int, error)
}

// Backlog is how far one group is behind.
type Backlog struct {
	Group    string
	Messages int
	Oldest   time.Time
}
