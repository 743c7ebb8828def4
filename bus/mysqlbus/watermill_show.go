package mysqlbus

import (
	"context"
	"database/sql"
	"errors"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/go-sql-driver/mysql"

	"github.com/millrace-go/millrace/internal/sqlrows"
	"github.com/millrace-go/millrace/internal/txbus"
)

func (watermillSQL) TablesQuery() string {
	return `SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE ?`
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
	return sqlrows.All(ctx, db, func(rows *sql.Rows) (g ackedGroup, err error) {
		err = rows.Scan(&g.name, &g.acked)
		return g, err
	}, "SELECT consumer_group, COALESCE(offset_acked, 0) FROM "+offsets(topic)+" ORDER BY consumer_group")
}

func (watermillSQL) NewestQuery(topic string, limit int) wmsql.Query {
	return wmsql.Query{Query: "SELECT uuid, payload, metadata FROM " + messages(topic) + " ORDER BY `offset` DESC LIMIT ?", Args: []any{limit}}
}

func (watermillSQL) PendingQuery(topic, group string, limit int) wmsql.Query {
	return wmsql.Query{Args: []any{group, limit, limit, limit}, Query: "(SELECT uuid, payload, metadata FROM " + messages(topic) + " FORCE INDEX (`position`)" +
		" WHERE `position` > COALESCE((SELECT offset_acked FROM " + offsets(topic) + " WHERE consumer_group = ?), 0)" +
		" ORDER BY `position` LIMIT ?) UNION ALL (SELECT uuid, payload, metadata FROM " + messages(topic) + " FORCE INDEX (`position`)" +
		" WHERE `position` IS NULL ORDER BY `offset` LIMIT ?) LIMIT ?"}
}

// IsMissing reports whether a table does not exist, or the column position or its index, which
// only a topic of Watermill SQL alone lacks.
func (watermillSQL) IsMissing(err error) bool { return is(err, 1146) || is(err, 1054) || is(err, 1176) }

// isThere reports whether the error is that a column or an index exists: another process was
// first.
func isThere(err error) bool { return is(err, 1060) || is(err, 1061) }

func is(err error, number uint16) bool {
	var server *mysql.MySQLError
	return errors.As(err, &server) && server.Number == number
}
