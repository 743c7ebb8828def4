package migrating

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// HandWritten is an outbox as teams write it: a table, and a loop that reads the
// rows without published_at.
type HandWritten struct {
	DB       *sql.DB
	Postgres bool
}

// Make makes its table.
func (h HandWritten) Make(ctx context.Context) error {
	id := "INTEGER PRIMARY KEY AUTOINCREMENT"
	if h.Postgres {
		id = "BIGSERIAL PRIMARY KEY"
	}
	_, err := h.DB.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS old_outbox (id `+id+`, message_id TEXT NOT NULL, topic TEXT NOT NULL, metadata TEXT NOT NULL, payload TEXT NOT NULL, published_at TEXT)`)
	return err
}

// Append writes a message in the caller's transaction.
func (h HandWritten) Append(ctx context.Context, tx *sql.Tx, topic string, m *message.Message) error {
	metadata, err := json.Marshal(m.Metadata)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO old_outbox (message_id, topic, metadata, payload) VALUES ($1, $2, $3, $4)`, m.UUID, topic, string(metadata), string(m.Payload))
	return err
}

// Waiting is how many messages have not been published.
func (h HandWritten) Waiting(ctx context.Context) (n int, err error) {
	err = h.DB.QueryRowContext(ctx, `SELECT count(*) FROM old_outbox WHERE published_at IS NULL`).Scan(&n)
	return n, err
}

// Publish publishes up to 100 waiting messages and returns their number.
func (h HandWritten) Publish(ctx context.Context, to message.Publisher) (n int, err error) {
	rows, err := h.DB.QueryContext(ctx, `SELECT id, message_id, topic, metadata, payload FROM old_outbox WHERE published_at IS NULL ORDER BY id LIMIT 100`)
	if err != nil {
		return 0, err
	}
	defer rows.Close() //nolint:errcheck // for the errors; it is closed below, before the connection is wanted again
	type row struct {
		id                                  int64
		messageID, topic, metadata, payload string
	}
	var batch []row
	for rows.Next() {
		var w row
		if err := rows.Scan(&w.id, &w.messageID, &w.topic, &w.metadata, &w.payload); err != nil {
			return 0, fmt.Errorf("read the old outbox: %w", err)
		}
		batch = append(batch, w)
	}
	if err := rows.Close(); err != nil {
		return 0, err
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	for _, w := range batch {
		m := message.NewMessage(w.messageID, []byte(w.payload))
		if err := json.Unmarshal([]byte(w.metadata), &m.Metadata); err != nil {
			return n, err
		}
		if err := to.Publish(w.topic, m); err != nil {
			return n, err
		}
		if _, err := h.DB.ExecContext(ctx, `UPDATE old_outbox SET published_at = $1 WHERE id = $2`, time.Now().UTC().Format(time.RFC3339Nano), w.id); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
