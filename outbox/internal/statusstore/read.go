package statusstore

import (
	"context"
	"database/sql"

	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
)

// Reader reads the pending events of a shard that are not deferred, in an order that is the
// order of commits for every key. Reading ahead of the settled position must neither repeat nor
// skip events.
type Reader interface {
	// Begin returns the mark at which a new lease begins to read. position is the stored
	// position of the last settled mark, "" at first.
	Begin(ctx context.Context, position string) (driver.Mark, error)
	// Read returns events after a mark.
	Read(ctx context.Context, shard int, after driver.Mark, limit int) (driver.Batch, error)
	// Position returns the position of a mark to store; "" for none.
	Position(m driver.Mark) string
	// Behind returns the arguments for the statement that counts a backlog behind a position,
	// in addition to the shard and the limit.
	Behind(position string) ([]any, error)
}

// Read implements driver.Store.
func (s *Store) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	t, err := tenureOf(l)
	if err != nil {
		return driver.Batch{}, err
	}
	if len(q.Keys) > 0 {
		var b driver.Batch
		err := s.sql.asideRead.each(ctx, s.reads, scanInto(&b.Items), l.Shard, s.texts(q.Keys), q.Limit)
		return b, wrap("read aside", err)
	}
	after := q.After
	if after == nil {
		after = t.start
	}
	b, err := s.reader.Read(ctx, l.Shard, after, q.Limit)
	if err != nil {
		return driver.Batch{}, wrap("read", err)
	}
	if len(t.held) > 0 {
		for i := range b.Items {
			it := &b.Items[i]
			if a, ok := t.held[it.ID]; ok {
				it.Attempts, it.Retries, it.Age, it.Wait, it.FailedSince = a.n, a.retries, a.age, a.wait, a.since
			}
		}
	}
	return b, nil
}

// scanInto collects the rows of a statement that reads events.
func scanInto(items *[]driver.Item) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var it driver.Item
		var created, age, wait, since int64
		if err := rows.Scan(&it.ID, &it.MessageID, &it.Topic, &it.Key, &it.Headers, &it.Payload, &created,
			&it.Attempts, &it.Retries, &age, &wait, &since); err != nil {
			return err
		}
		it.CreatedAt, it.Age, it.Wait, it.FailedSince = sqlstore.Instant(created), sqlstore.Micros(age), sqlstore.Micros(wait), sqlstore.Instant(since)
		*items = append(*items, it)
		return nil
	}
}
