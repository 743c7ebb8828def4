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

// lenient is an adapter that also reads messages of other writers whose metadata is no object of
// texts: they are delivered without it. Watermill SQL's own reads no message behind one.
type lenient struct{ wmsql.SchemaAdapter }

func (l lenient) UnmarshalMessage(row wmsql.Scanner) (wmsql.Row, error) {
	return l.SchemaAdapter.UnmarshalMessage(checked{row})
}

type checked struct{ wmsql.Scanner }

// Scan empties the last column, the metadata, if it cannot be read.
func (c checked) Scan(dest ...any) error {
	err := c.Scanner.Scan(dest...)
	metadata, ok := dest[len(dest)-1].(*[]byte)
	if ok && json.Unmarshal(*metadata, new(message.Metadata)) != nil {
		*metadata = nil
	}
	return err
}
