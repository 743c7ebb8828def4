package mysqlbus

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/go-sql-driver/mysql"

	"github.com/millrace-go/millrace/internal/txbus"
)

func (watermillSQL) Topics(ctx context.Context, db *sql.DB) ([]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT table_name FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_name LIKE ? ORDER BY table_name`, strings.ReplaceAll(txbus.OffsetsTable(""), "_", `\_`)+"%")
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

func (w watermillSQL) Groups(ctx context.Context, db *sql.DB, topic string, limit int) ([]txbus.Backlog, error) {
	groups, err := w.acked(ctx, db, topic)
	if err != nil {
		return nil, err
	}
	out := make([]txbus.Backlog, 0, len(groups))
	for _, g := range groups {
		b := txbus.Backlog{Group: g.name}
		var oldest sql.NullTime
		err := db.QueryRowContext(ctx, "SELECT COUNT(*), MIN(created_at) FROM ("+
			"(SELECT created_at FROM "+messages(topic)+" FORCE INDEX (`position`) WHERE `position` > ? LIMIT ?) UNION ALL "+
			"(SELECT created_at FROM "+messages(topic)+" FORCE INDEX (`position`) WHERE `position` IS NULL LIMIT ?)) AS waiting",
			g.acked, limit, limit).Scan(&b.Messages, &oldest)
		if err != nil {
			return nil, err
		}
		b.Messages, b.Oldest = min(b.Messages, limit), oldest.Time
		out = append(out, b)
	}
	return out, nil
}

type ackedGroup struct {
	name  string
	acked int64
}

func (watermillSQL) acked(ctx context.Context, db *sql.DB, topic string) ([]ackedGroup, error) {
	rows, err := db.QueryContext(ctx, "SELECT consumer_group, COALESCE(offset_acked, 0) FROM "+offsets(topic)+" ORDER BY consumer_group")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []ackedGroup
	for rows.Next() {
		var g ackedGroup
		if err := rows.Scan(&g.name, &g.acked); err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, rows.Err()
}

func (watermillSQL) Newest(ctx context.Context, db *sql.DB, topic string, limit int) ([]*message.Message, error) {
	out, err := show(ctx, db, "SELECT uuid, payload, metadata FROM "+messages(topic)+" ORDER BY `offset` DESC LIMIT ?", limit)
	slices.Reverse(out)
	return out, err
}

func (watermillSQL) Pending(ctx context.Context, db *sql.DB, topic, group string, limit int) ([]*message.Message, error) {
	placed, err := show(ctx, db, "SELECT uuid, payload, metadata FROM "+messages(topic)+" FORCE INDEX (`position`)"+
		" WHERE `position` > COALESCE((SELECT offset_acked FROM "+offsets(topic)+" WHERE consumer_group = ?), 0)"+
		" ORDER BY `position` LIMIT ?", group, limit)
	if err != nil || len(placed) == limit {
		return placed, err
	}
	fresh, err := show(ctx, db, "SELECT uuid, payload, metadata FROM "+messages(topic)+" FORCE INDEX (`position`)"+
		" WHERE `position` IS NULL ORDER BY `offset` LIMIT ?", limit-len(placed))
	return append(placed, fresh...), err
}

// show runs a query for messages; a topic that does not exist has none.
func show(ctx context.Context, db *sql.DB, query string, args ...any) ([]*message.Message, error) {
	rows, err := db.QueryContext(ctx, query, args...) //nolint:rowserrcheck // Messages checks it
	if err != nil {
		if isMissing(err) {
			return nil, nil
		}
		return nil, err
	}
	defer rows.Close()
	return txbus.Messages(rows)
}

// isMissing reports whether the error is that a table does not exist.
func isMissing(err error) bool { return is(err, 1146) }

// isThere reports whether the error is that a column or an index exists: another process was
// first.
func isThere(err error) bool { return is(err, 1060) || is(err, 1061) }

func is(err error, number uint16) bool {
	var server *mysql.MySQLError
	return errors.As(err, &server) && server.Number == number
}
