package txbus

import (
	"context"
	"database/sql"
	"encoding/json"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/sqlrows"
)

// show runs a query for messages; a topic without tables has none. A message is also returned if
// its metadata cannot be decoded.
func (d *Driver) show(ctx context.Context, q wmsql.Query) ([]*message.Message, error) {
	all, err := sqlrows.All(ctx, d.DB, func(rows *sql.Rows) (*message.Message, error) {
		var id string
		var payload, metadata []byte
		err := rows.Scan(&id, &payload, &metadata)
		return messageOf(id, payload, metadata), err
	}, q.Query, q.Args...)
	if err != nil && d.Dialect.IsMissing(err) {
		return nil, nil
	}
	return all, err
}

func messageOf(id string, payload, metadata []byte) *message.Message {
	m := message.NewMessage(id, payload)
	var read message.Metadata
	if json.Unmarshal(metadata, &read) == nil && read != nil {
		m.Metadata = read
	}
	return m
}

// Lenient is a row for Watermill SQL, which reads no message behind one whose metadata, the last
// column, is no object of texts: such a message of another writer is delivered without it.
type Lenient struct{ wmsql.Scanner }

// Scan implements wmsql.Scanner.
func (l Lenient) Scan(dest ...any) error {
	err := l.Scanner.Scan(dest...)
	metadata, ok := dest[len(dest)-1].(*[]byte)
	if ok && json.Unmarshal(*metadata, new(message.Metadata)) != nil {
		*metadata = nil
	}
	return err
}
