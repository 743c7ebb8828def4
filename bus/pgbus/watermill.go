package pgbus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"

	"github.com/millrace-go/millrace/internal/onedb"
	"github.com/millrace-go/millrace/internal/txbus"
)

// passSize bounds how many messages get their positions in one transaction.
const passSize = 500

// quoted are the tables of a topic as they stand in SQL text. A topic's name
// holds no quotes; package txbus has checked it.
func messages(topic string) string { return `"` + txbus.MessagesTable(topic) + `"` }
func offsets(topic string) string  { return `"` + txbus.OffsetsTable(topic) + `"` }

// schema is Watermill SQL's schema for PostgreSQL with a payload of any bytes
// and a column more, which Watermill SQL's own publishers and subscribers do not
// notice: the position of a message. Watermill SQL itself reads in the order of
// transaction ids, below the oldest transaction that is running: it stalls
// behind any that is open, those of other groups' handlers included, and
// transactions that waited for a key's row can come in the wrong order.
// Positions are given to what has committed.
type schema struct{ wmsql.DefaultPostgreSQLSchema }

func newSchema() schema {
	return schema{wmsql.DefaultPostgreSQLSchema{
		GenerateMessagesTableName: messages,
		GeneratePayloadType:       func(string) string { return "BYTEA" },
	}}
}

func (s schema) SelectQuery(topic, group string, o wmsql.OffsetsAdapter) wmsql.Query {
	next := o.NextOffsetQuery(topic, group)
	return wmsql.Query{Args: next.Args, Query: `
		WITH last AS MATERIALIZED (` + next.Query + `)
		SELECT position, transaction_id, uuid, payload, metadata FROM ` + s.MessagesTable(topic) + `
		WHERE position > (SELECT offset_acked FROM last) ORDER BY position LIMIT 1`}
}

// SubscribeIsolationLevel is the handler's as well, so it is the pool's own.
// Positions become visible in their order at any level.
func (schema) SubscribeIsolationLevel() sql.IsolationLevel { return sql.LevelDefault }

// offsetsAdapter is Watermill SQL's, except that an instance whose group is at
// work elsewhere does not keep a connection waiting for it.
type offsetsAdapter struct {
	wmsql.DefaultPostgreSQLOffsetsAdapter
}

func newOffsets() offsetsAdapter {
	return offsetsAdapter{wmsql.DefaultPostgreSQLOffsetsAdapter{GenerateMessagesOffsetsTableName: offsets}}
}

func (a offsetsAdapter) NextOffsetQuery(topic, group string) wmsql.Query {
	q := a.DefaultPostgreSQLOffsetsAdapter.NextOffsetQuery(topic, group)
	q.Query += " SKIP LOCKED"
	return q
}

// BeforeSubscribingQueries are none: the group's row was made by Join.
func (offsetsAdapter) BeforeSubscribingQueries(string, string) []wmsql.Query { return nil }

// watermillSQL is txbus.Dialect.
type watermillSQL struct{}

func (watermillSQL) Schema() wmsql.SchemaAdapter   { return newSchema() }
func (watermillSQL) Offsets() wmsql.OffsetsAdapter { return newOffsets() }

func (watermillSQL) Check(ctx context.Context, db *sql.DB) error {
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("pgbus: %w", err)
	}
	return nil
}

func (watermillSQL) Same(ctx context.Context, db *sql.DB, app onedb.Querier) (bool, error) {
	return same(ctx, db, app, `coalesce(current_schema(), '')`)
}

func (watermillSQL) Prepare(ctx context.Context, db *sql.DB, topic string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // the error that matters is returned
	statements := []string{
		// Two that make a table at once are refused in spite of IF NOT EXISTS, also
		// those of two topics: their sequences have the same name up to where
		// PostgreSQL cuts it.
		`SELECT pg_advisory_xact_lock(hashtextextended('millrace watermill tables', 0))`,
		`CREATE TABLE IF NOT EXISTS wm_positions (topic text PRIMARY KEY, last_position bigint NOT NULL)`,
	}
	for _, q := range slices.Concat(newSchema().SchemaInitializingQueries(topic), newOffsets().SchemaInitializingQueries(topic)) {
		statements = append(statements, q.Query)
	}
	statements = append(statements,
		`ALTER TABLE `+messages(topic)+` ADD COLUMN IF NOT EXISTS position bigint`,
		`CREATE INDEX IF NOT EXISTS "wm_pos_`+topic+`" ON `+messages(topic)+` (position)`,
		`CREATE INDEX IF NOT EXISTS "wm_new_`+topic+`" ON `+messages(topic)+` ("offset") WHERE position IS NULL`)
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO wm_positions VALUES ($1, 0) ON CONFLICT DO NOTHING`, topic); err != nil {
		return err
	}
	return tx.Commit()
}

func (watermillSQL) Join(ctx context.Context, db *sql.DB, topic, group string) error {
	for _, q := range newOffsets().DefaultPostgreSQLOffsetsAdapter.BeforeSubscribingQueries(topic, group) {
		if _, err := db.ExecContext(ctx, q.Query, q.Args...); err != nil {
			return err
		}
	}
	return nil
}

// Arrange gives positions to what has committed since, in the order of offsets:
// an offset is taken after the locks that a transaction took before it
// published, so that is the order of commits for whoever publishes behind a lock.
func (watermillSQL) Arrange(ctx context.Context, db *sql.DB, topic string) (int, error) {
	// Most of the time there is nothing, and no lock to be taken.
	var fresh bool
	err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+messages(topic)+` WHERE position IS NULL)`).Scan(&fresh)
	if err != nil || !fresh {
		return 0, err
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() //nolint:errcheck // the error that matters is returned
	var last int64
	switch err := tx.QueryRowContext(ctx, `SELECT last_position FROM wm_positions WHERE topic = $1 FOR UPDATE SKIP LOCKED`, topic).Scan(&last); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil // somebody else is at it
	case err != nil:
		return 0, err
	}
	// Under the lock, and in a new view of the data: what the one before has
	// numbered is gone from it, and nothing that has committed is missing.
	res, err := tx.ExecContext(ctx, `
		UPDATE `+messages(topic)+` AS m SET position = $1 + n.nth FROM (
			SELECT transaction_id, "offset", row_number() OVER (ORDER BY "offset") AS nth FROM (
				SELECT transaction_id, "offset" FROM `+messages(topic)+` WHERE position IS NULL
				ORDER BY "offset" LIMIT `+strconv.Itoa(passSize)+`
			) AS fresh
		) AS n WHERE m.transaction_id = n.transaction_id AND m."offset" = n."offset"`, last)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	if err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE wm_positions SET last_position = $1 WHERE topic = $2`, last+n, topic)
	}
	if err == nil {
		err = tx.Commit()
	}
	return int(n), err
}
