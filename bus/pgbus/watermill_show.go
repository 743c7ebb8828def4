package pgbus

import (
	"context"
	"database/sql"
	"errors"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"

	"github.com/millrace-go/millrace/internal/sqlrows"
	"github.com/millrace-go/millrace/internal/txbus"
)

func (watermillSQL) TablesQuery() string {
	return `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_name LIKE $1`
}

func (watermillSQL) Groups(ctx context.Context, db *sql.DB, topic string, limit int) ([]txbus.Backlog, error) {
	return sqlrows.All(ctx, db, func(rows *sql.Rows) (b txbus.Backlog, err error) {
		var oldest sql.NullTime
		err = rows.Scan(&b.Group, &b.Messages, &oldest)
		b.Oldest = oldest.Time
		return b, err
	}, `
		SELECT o.consumer_group, least(b.n, $1), b.oldest FROM `+offsets(topic)+` AS o
		CROSS JOIN LATERAL (
			SELECT count(*) AS n, min(created_at) AT TIME ZONE current_setting('TimeZone') AS oldest FROM (
				(SELECT created_at FROM `+messages(topic)+` WHERE position > o.offset_acked ORDER BY position LIMIT $1)
				UNION ALL
				(SELECT created_at FROM `+messages(topic)+` WHERE position IS NULL LIMIT $1)
			) AS waiting
		) AS b ORDER BY o.consumer_group`, limit)
}

func (watermillSQL) NewestQuery(topic string, limit int) wmsql.Query {
	// Messages without a position are the newest.
	return wmsql.Query{Args: []any{limit}, Query: `SELECT uuid, payload, metadata FROM ` + messages(topic) + `
		ORDER BY position DESC NULLS FIRST, "offset" DESC LIMIT $1`}
}

func (watermillSQL) PendingQuery(topic, group string, limit int) wmsql.Query {
	return wmsql.Query{Args: []any{limit, group}, Query: `
		(SELECT uuid, payload, metadata FROM ` + messages(topic) + `
		WHERE position > coalesce((SELECT offset_acked FROM ` + offsets(topic) + ` WHERE consumer_group = $2), 0)
		ORDER BY position LIMIT $1)
		UNION ALL
		(SELECT uuid, payload, metadata FROM ` + messages(topic) + ` WHERE position IS NULL ORDER BY "offset" LIMIT $1)
		LIMIT $1`}
}

// IsMissing reports whether a table does not exist, or the column position, which only a topic
// of Watermill SQL alone lacks.
func (watermillSQL) IsMissing(err error) bool {
	var server interface{ SQLState() string }
	return errors.As(err, &server) && (server.SQLState() == "42P01" || server.SQLState() == "42703")
}
