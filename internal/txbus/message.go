package txbus

import (
	"database/sql"
	"encoding/json"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Messages makes messages of rows of uuid, payload and metadata. A message is also returned if
// its metadata cannot be decoded.
func Messages(rows *sql.Rows) ([]*message.Message, error) {
	var out []*message.Message
	for rows.Next() {
		var id string
		var payload, metadata []byte
		if err := rows.Scan(&id, &payload, &metadata); err != nil {
			return nil, err
		}
		out = append(out, messageOf(id, payload, metadata))
	}
	return out, rows.Err()
}

func messageOf(id string, payload, metadata []byte) *message.Message {
	m := message.NewMessage(id, payload)
	var read message.Metadata
	if json.Unmarshal(metadata, &read) == nil && read != nil {
		m.Metadata = read
	}
	return m
}
