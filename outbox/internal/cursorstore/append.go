package cursorstore

import (
	"context"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/headers"
	"github.com/millrace-go/millrace/sqltx"
)

// Append implements driver.Store. The first Append of a process runs one more statement, which
// checks that the stored number of shards is the configured one.
func (s *Store) Append(ctx context.Context, tx sqltx.Execer, records []driver.Record) error {
	if err := s.number.Ensure(ctx, tx); err != nil {
		return err
	}
	entries := make([]log.Entry, len(records))
	for i, r := range records {
		key := r.Event.Key()
		entries[i] = log.Entry{
			Lane: log.LaneOf(key, s.shards), Topic: r.Topic, MessageID: r.Message.UUID,
			Key: key, Headers: headers.Encode(r.Message.Metadata, key), Payload: r.Message.Payload, Labels: labels(r.Event),
		}
	}
	return s.log.Append(ctx, tx, entries)
}

func labels(e event.Event) []string { return []string{e.Type, e.AggregateType, e.AggregateID} }

// Shards implements driver.Store.
func (s *Store) Shards(ctx context.Context) (int, error) { return s.number.Store(ctx, s.db) }
