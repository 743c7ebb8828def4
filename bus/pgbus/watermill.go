package pgbus

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/txbus"
)

// quoted are the tables of a topic as they stand in SQL text. A topic's name
// holds no quotes; package txbus has checked it.
func messages(topic string) string { return `"` + txbus.MessagesTable(topic) + `"` }
func offsets(topic string) string  { return `"` + txbus.OffsetsTable(topic) + `"` }

// schema is Watermill SQL's schema for PostgreSQL with a payload of any bytes,
// one message to a transaction, read by the primary key: its own query sorts
// the whole backlog for each read.
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
		SELECT "offset", transaction_id, uuid, payload, metadata FROM ` + s.MessagesTable(topic) + `
		WHERE (transaction_id, "offset") > ((SELECT last_processed_transaction_id FROM last), (SELECT offset_acked FROM last))
			AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
		ORDER BY transaction_id, "offset" LIMIT 1`}
}

// SubscribeIsolationLevel is the handler's as well. Watermill SQL's own would
// refuse a handler's update of a row that somebody else has changed.
func (schema) SubscribeIsolationLevel() sql.IsolationLevel { return sql.LevelReadCommitted }

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

// Same compares by a lock: locks of the kind belong to one database of one
// server, and a number that was just made up is held by nobody else.
func (watermillSQL) Same(ctx context.Context, a, b *sql.DB) (same bool, err error) {
	var number [8]byte
	rand.Read(number[:]) //nolint:errcheck // never fails
	key := int64(binary.BigEndian.Uint64(number[:]))
	tx, err := a.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback() //nolint:errcheck // it only held the lock
	var here, there, free = "", "", false
	const schema = `coalesce(current_schema(), '')`
	if err := tx.QueryRowContext(ctx, `SELECT `+schema+` FROM pg_advisory_xact_lock($1)`, key).Scan(&here); err != nil {
		return false, err
	}
	if err := b.QueryRowContext(ctx, `SELECT `+schema+`, pg_try_advisory_xact_lock($1)`, key).Scan(&there, &free); err != nil {
		return false, err
	}
	return !free && here == there, nil
}

func (watermillSQL) Prepare(ctx context.Context, db *sql.DB, topic string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // the error that matters is returned
	// Two that make a table at once are refused in spite of IF NOT EXISTS, also
	// those of two topics: their sequences have the same name up to where
	// PostgreSQL cuts it.
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('millrace watermill tables', 0))`); err != nil {
		return err
	}
	for _, q := range slices.Concat(newSchema().SchemaInitializingQueries(topic), newOffsets().SchemaInitializingQueries(topic)) {
		if _, err := tx.ExecContext(ctx, q.Query, q.Args...); err != nil {
			return err
		}
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

func (watermillSQL) Topics(ctx context.Context, db *sql.DB) ([]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT table_name FROM information_schema.tables
		WHERE table_schema = current_schema() AND (table_name LIKE 'watermill\_offsets\_%' OR table_name LIKE 'wm\_offsets\_%')
		ORDER BY table_name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			return nil, err
		}
		if topic, ok := txbus.TopicOf(table); ok {
			out = append(out, topic)
		}
	}
	return out, rows.Err()
}

func (watermillSQL) Groups(ctx context.Context, db *sql.DB, topic string, limit int) ([]txbus.Backlog, error) {
	rows, err := db.QueryContext(ctx, `
		SELECT o.consumer_group, b.n, b.oldest FROM `+offsets(topic)+` AS o
		CROSS JOIN LATERAL (
			SELECT count(*) AS n, min(created_at) AT TIME ZONE current_setting('TimeZone') AS oldest FROM (
				SELECT created_at FROM `+messages(topic)+`
				WHERE (transaction_id, "offset") > (o.last_processed_transaction_id, o.offset_acked) LIMIT $1
			) AS waiting
		) AS b ORDER BY o.consumer_group`, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []txbus.Backlog
	for rows.Next() {
		var b txbus.Backlog
		var oldest sql.NullTime
		if err := rows.Scan(&b.Group, &b.Messages, &oldest); err != nil {
			return nil, err
		}
		b.Oldest = oldest.Time
		out = append(out, b)
	}
	return out, rows.Err()
}

func (watermillSQL) Newest(ctx context.Context, db *sql.DB, topic string, limit int) ([]*message.Message, error) {
	out, err := show(ctx, db, topic, `SELECT uuid, payload, metadata FROM `+messages(topic)+`
		ORDER BY transaction_id DESC, "offset" DESC LIMIT $1`, limit)
	slices.Reverse(out)
	return out, err
}

func (watermillSQL) Pending(ctx context.Context, db *sql.DB, topic, group string, limit int) ([]*message.Message, error) {
	return show(ctx, db, topic, `SELECT uuid, payload, metadata FROM `+messages(topic)+`
		WHERE (transaction_id, "offset") > (
			coalesce((SELECT last_processed_transaction_id FROM `+offsets(topic)+` WHERE consumer_group = $2), '0'),
			coalesce((SELECT offset_acked FROM `+offsets(topic)+` WHERE consumer_group = $2), 0))
		ORDER BY transaction_id, "offset" LIMIT $1`, limit, group)
}

// show runs a query for messages, when the topic's table exists.
func show(ctx context.Context, db *sql.DB, topic, query string, args ...any) ([]*message.Message, error) {
	var exists bool
	if err := db.QueryRowContext(ctx, `SELECT to_regclass($1) IS NOT NULL`, offsets(topic)).Scan(&exists); err != nil || !exists {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return txbus.Messages(rows)
}

// Arrange has nothing to do: the transaction ids are the order.
func (watermillSQL) Arrange(context.Context, *sql.DB, string) (int, error) { return 0, nil }
