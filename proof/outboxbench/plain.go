package outboxbench

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/report"
)

// drainPlain is the queue that a textbook makes of a table: batches of 1000 by SKIP
// LOCKED, published and deleted in one transaction. It knows no order, no retries
// and no history, and leaves the headers unread, so it is close to the limit of the
// database. Its rows are those of the status outbox.
func drainPlain(ctx context.Context, p place.Place, cfg Config) (report.Pace, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	db, _, err := filled(ctx, p, cfg, 10_000)
	if err != nil {
		return report.Pace{}, err
	}
	defer db.Close() //nolint:errcheck // measured work is done
	for _, s := range []string{
		`CREATE TABLE plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
			topic text NOT NULL, message_id uuid NOT NULL, message_key text NOT NULL, headers text NOT NULL, payload bytea NOT NULL)`,
		`INSERT INTO plain (topic, message_id, message_key, headers, payload)
			SELECT topic, id, event_key, headers, payload FROM outbox_events ORDER BY seq`,
	} {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return report.Pace{}, fmt.Errorf("fill: %w", err)
		}
	}
	if err := vacuumed(ctx, p, db, "plain"); err != nil {
		return report.Pace{}, err
	}
	published := 0
	sink := counter{func(string) { published++ }}
	w, err := report.Timed(cfg.Rows, func() error {
		for {
			if n, err := plainBatch(ctx, db, sink); err != nil || n == 0 {
				return err
			}
		}
	})
	if err == nil && published != cfg.Rows {
		err = fmt.Errorf("published %d of %d", published, cfg.Rows)
	}
	return w, err
}

// plainBatch publishes and deletes up to 1000 rows, and returns their number.
func plainBatch(ctx context.Context, db *sql.DB, sink counter) (int, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() //nolint:errcheck // no-op after the commit
	rows, err := tx.QueryContext(ctx, `SELECT id, topic, message_id, message_key, headers, payload FROM plain
		ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED`)
	if err != nil {
		return 0, err
	}
	defer rows.Close() //nolint:errcheck // Err is checked below
	var ids []int64
	var messages []*message.Message
	var topic string
	for rows.Next() {
		var id int64
		var uuid, key, headers string
		var payload []byte
		if err := rows.Scan(&id, &topic, &uuid, &key, &headers, &payload); err != nil {
			return 0, err
		}
		ids = append(ids, id)
		messages = append(messages, message.NewMessage(uuid, payload))
	}
	if err := rows.Err(); err != nil || len(ids) == 0 {
		return 0, err
	}
	if err := sink.Publish(topic, messages...); err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM plain WHERE id = ANY ($1)`, ids); err != nil {
		return 0, err
	}
	return len(ids), tx.Commit()
}
