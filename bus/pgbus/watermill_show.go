package pgbus

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/txbus"
)

func (watermillSQL) Topics(ctx context.Context, db *sql.DB) ([]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT table_name FROM information_schema.tables
		WHERE table_schema = current_schema() AND table_name LIKE $1 ORDER BY table_name`,
		strings.ReplaceAll(txbus.OffsetsTable(""), "_", `\_`)+"%")
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
		out = append(out, strings.TrimPrefix(table, txbus.OffsetsTable("")))
	}
	return out, rows.Err()
}

func (watermillSQL) Groups(ctx context.Context, db *sql.DB, topic string, limit int) ([]txbus.Backlog, error) {
	rows, err := db.QueryContext(ctx, `
		SELECT o.consumer_group, least(b.n, $1), b.oldest FROM `+offsets(topic)+` AS o
		CROSS JOIN LATERAL (
			SELECT count(*) AS n, min(created_at) AT TIME ZONE current_setting('TimeZone') AS oldest FROM (
				(SELECT created_at FROM `+messages(topic)+` WHERE position > o.offset_acked ORDER BY position LIMIT $1)
				UNION ALL
				(SELECT created_at FROM `+messages(topic)+` WHERE position IS NULL LIMIT $1)
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
	// Messages without a position are the newest.
	out, err := show(ctx, db, topic, `SELECT uuid, payload, metadata FROM `+messages(topic)+`
		ORDER BY position DESC NULLS FIRST, "offset" DESC LIMIT $1`, limit)
	slices.Reverse(out)
	return out, err
}

func (watermillSQL) Pending(ctx context.Context, db *sql.DB, topic, group string, limit int) ([]*message.Message, error) {
	return show(ctx, db, topic, `
		(SELECT uuid, payload, metadata FROM `+messages(topic)+`
		WHERE position > coalesce((SELECT offset_acked FROM `+offsets(topic)+` WHERE consumer_group = $2), 0)
		ORDER BY position LIMIT $1)
		UNION ALL
		(SELECT uuid, payload, metadata FROM `+messages(topic)+` WHERE position IS NULL ORDER BY "offset" LIMIT $1)
		LIMIT $1`, limit, group)
}

// show runs a query for messages, when the topic's tables exist.
func show(ctx context.Context, db *sql.DB, topic, query string, args ...any) ([]*message.Message, error) {
	var exists bool
	if err := db.QueryRowContext(ctx, `SELECT to_regclass($1) IS NOT NULL`, offsets(topic)).Scan(&exists); err != nil || !exists {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, query, args...) //nolint:rowserrcheck // Messages checks it
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return txbus.Messages(rows)
}
