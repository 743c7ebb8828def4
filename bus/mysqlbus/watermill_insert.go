package mysqlbus

import (
	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
)

// InsertQuery sends values for a JSON column as text. MySQL refuses bytes there (error 3144),
// and a client that interpolates sends bytes as bytes.
func (s schema) InsertQuery(topic string, msgs message.Messages) (wmsql.Query, error) {
	q, err := s.DefaultMySQLSchema.InsertQuery(topic, msgs)
	if err != nil {
		return wmsql.Query{}, err
	}
	_, textual := s.textual.Load(topic)
	const uuid, payload, columns = 0, 1, 3 // the metadata is last
	for i, arg := range q.Args {
		if i%columns == uuid || i%columns == payload && !textual {
			continue
		}
		if data, ok := arg.([]byte); ok {
			q.Args[i] = string(data)
		}
	}
	return q, nil
}
