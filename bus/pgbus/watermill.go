package pgbus

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"

	"github.com/millrace-go/millrace/internal/onedb"
	"github.com/millrace-go/millrace/internal/txbus"
)

// passSize bounds how many messages get their positions in one transaction.
const passSize = 500

// messages and offsets return the quoted table names of a topic. A topic's name has no quotes;
// package txbus has checked it.
func messages(topic string) string { return `"` + txbus.MessagesTable(topic) + `"` }
func offsets(topic string) string  { return `"` + txbus.OffsetsTable(topic) + `"` }

// schema is Watermill SQL's schema for PostgreSQL with a payload of any bytes and an additional
// column that Watermill SQL's own publishers and subscribers ignore: the position of a message.
// Watermill SQL itself reads in the order of transaction ids, below the oldest running
// transaction: it stalls behind any open transaction, also of other groups' handlers, and
// transactions that waited for a key's row can be read in the wrong order. Positions are given
// to committed messages.
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

// SubscribeIsolationLevel also applies to the handler, so it is the pool's own. Positions become
// visible in order at any level.
func (schema) SubscribeIsolationLevel() sql.IsolationLevel { return sql.LevelDefault }

// offsetsAdapter is Watermill SQL's, except that an instance whose group is at work elsewhere
// does not hold a connection while it waits.
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

// BeforeSubscribingQueries returns none: Join made the group's row.
func (offsetsAdapter) BeforeSubscribingQueries(string, string) []wmsql.Query { return nil }

// watermillSQL implements txbus.Dialect.
type watermillSQL struct{}

func (watermillSQL) Schema() wmsql.SchemaAdapter   { return newSchema() }
func (watermillSQL) Offsets() wmsql.OffsetsAdapter { return newOffsets() }

// Check returns nil: every PostgreSQL will do.
func (watermillSQL) Check(context.Context, *sql.DB) error { return nil }

func (watermillSQL) Prepare(ctx context.Context, db *sql.DB, topic string) error {
	if is, err := isMade(ctx, db, topic); err != nil || is {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // the error that matters is returned
	// PostgreSQL refuses two sessions that create a table at once in spite of IF NOT EXISTS, also
	// for two topics: their sequences have the same name up to the length at which PostgreSQL cuts
	// it.
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('millrace watermill tables', 0))`); err != nil {
		return err
	}
	if is, err := isMade(ctx, tx, topic); err != nil || is {
		return err
	}
	statements := []string{
		`CREATE TABLE IF NOT EXISTS wm_positions (topic text PRIMARY KEY, last_position bigint NOT NULL)`,
	}
	for _, q := range slices.Concat(newSchema().SchemaInitializingQueries(topic), newOffsets().SchemaInitializingQueries(topic)) {
		statements = append(statements, q.Query)
	}
	statements = append(statements,
		`ALTER TABLE `+messages(topic)+` ADD COLUMN IF NOT EXISTS position bigint`,
		`CREATE INDEX IF NOT EXISTS "wm_pos_`+topic+`" ON `+messages(topic)+` (position)`,
		`CREATE INDEX IF NOT EXISTS "wm_new_`+topic+`" ON `+messages(topic)+` ("offset") WHERE position IS NULL`,
		`INSERT INTO wm_positions VALUES ('`+topic+`', 0) ON CONFLICT DO NOTHING`)
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// isMade reports whether the topic has what Prepare makes, by the last of it. ALTER TABLE and
// CREATE INDEX lock the table in spite of IF NOT EXISTS: they would wait for the transaction of
// every handler at work, and publishers behind them.
func isMade(ctx context.Context, db onedb.Querier, topic string) (is bool, err error) {
	err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_indexes WHERE schemaname = current_schema() AND tablename = $1 AND indexname = $2)`,
		txbus.MessagesTable(topic), "wm_new_"+topic).Scan(&is)
	return is, err
}

func (watermillSQL) Join(ctx context.Context, db *sql.DB, topic, group string) error {
	for _, q := range newOffsets().DefaultPostgreSQLOffsetsAdapter.BeforeSubscribingQueries(topic, group) {
		if _, err := db.ExecContext(ctx, q.Query, q.Args...); err != nil {
			return err
		}
	}
	return nil
}

// Arrange gives positions to newly committed messages, in the order of offsets. A transaction
// takes its offset after the locks it took before publishing, so for publishers behind a lock
// that is the order of commits.
func (watermillSQL) Arrange(ctx context.Context, db *sql.DB, topic string) (int, error) {
	// Usually there are no new messages, and no lock is needed.
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
		return 0, nil // another session does it
	case err != nil:
		return 0, err
	}
	// Under the lock, in a new snapshot: it excludes the messages that the previous holder
	// numbered, and includes every committed one. One that is deleted at this moment gets none.
	var n int
	err = tx.QueryRowContext(ctx, `
		WITH given AS (
			UPDATE `+messages(topic)+` AS m SET position = $1 + n.nth FROM (
				SELECT transaction_id, "offset", row_number() OVER (ORDER BY "offset") AS nth FROM (
					SELECT transaction_id, "offset" FROM `+messages(topic)+` WHERE position IS NULL
					ORDER BY "offset" LIMIT `+strconv.Itoa(passSize)+`
				) AS fresh
			) AS n WHERE m.transaction_id = n.transaction_id AND m."offset" = n."offset" RETURNING position
		)
		SELECT count(*), coalesce(max(position), $1) FROM given`, last).Scan(&n, &last)
	if err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE wm_positions SET last_position = $1 WHERE topic = $2`, last, topic)
	}
	if err == nil {
		err = tx.Commit()
	}
	return n, err
}
