package place

import (
	wsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
)

// WatermillMySQL is Watermill SQL's schema for MariaDB and MySQL with a payload of
// bytes, 1000 rows a query. It sends the metadata as text: MySQL takes no bytes in
// a JSON column, and the pools of a Place send bytes as bytes. Another pool would
// cost the peer a round trip more for each statement.
type WatermillMySQL struct{ wsql.DefaultMySQLSchema }

// NewWatermillMySQL returns the schema.
func NewWatermillMySQL() WatermillMySQL {
	return WatermillMySQL{wsql.DefaultMySQLSchema{
		SubscribeBatchSize:  1000,
		GeneratePayloadType: func(string) string { return "LONGBLOB" },
	}}
}

// InsertQuery implements wsql.SchemaAdapter.
func (s WatermillMySQL) InsertQuery(topic string, msgs message.Messages) (wsql.Query, error) {
	q, err := s.DefaultMySQLSchema.InsertQuery(topic, msgs)
	for i := 2; i < len(q.Args); i += 3 { // uuid, payload, metadata
		if data, ok := q.Args[i].([]byte); ok {
			q.Args[i] = string(data)
		}
	}
	return q, err
}
