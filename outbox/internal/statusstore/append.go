package statusstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/headers"
	"github.com/millrace-go/millrace/sqltx"
)

// Appender writes rows in their order. An entry's labels are the event's type,
// its aggregate's type and its aggregate's id.
type Appender func(ctx context.Context, x sqltx.Execer, rows []log.Entry) error

// Labels are the columns of an entry's labels.
func Labels() []string { return []string{"event_type", "aggregate_type", "aggregate_id"} }

// Append implements driver.Store. The first Append of a process runs one more statement, which
// checks that the stored number of shards is the configured one.
func (s *Store) Append(ctx context.Context, tx sqltx.Execer, records []driver.Record) error {
	rows := make([]log.Entry, len(records))
	for i, r := range records {
		if err := s.fits(r); err != nil {
			return fault.MarkPermanent(fmt.Errorf("event %q: %w", r.Event.ID, err))
		}
		key := r.Event.Key()
		rows[i] = log.Entry{
			Lane: log.LaneOf(key, s.shards), Topic: r.Topic, MessageID: r.Message.UUID,
			Key: key, Headers: headers.Encode(r.Message.Metadata, key), Payload: r.Message.Payload,
			Labels: []string{r.Event.Type, r.Event.AggregateType, r.Event.AggregateID},
		}
	}
	if err := s.number.Ensure(ctx, tx); err != nil {
		return err
	}
	return s.append(ctx, tx, rows)
}

// fits refuses values that the columns would refuse, or that a server without strict mode would
// truncate.
func (s *Store) fits(r driver.Record) error {
	if id, err := uuid.Parse(r.Message.UUID); err != nil || id.String() != r.Message.UUID {
		return errors.New("its id is no UUID in lower case, which the column id of the table is")
	}
	for _, c := range []struct {
		name, text string
		most       int
	}{
		{"topic", r.Topic, s.maxName}, {"key", r.Event.Key(), s.maxText}, {"type", r.Event.Type, s.maxText},
		{"aggregate type", r.Event.AggregateType, s.maxText}, {"aggregate id", r.Event.AggregateID, s.maxText},
	} {
		if c.most > 0 && len(c.text) > c.most && utf8.RuneCountInString(c.text) > c.most {
			return fmt.Errorf("its %s has %d characters, at most %d fit", c.name, utf8.RuneCountInString(c.text), c.most)
		}
	}
	return nil
}

// columns is the number of columns of an appended row, and maxValues how many values a
// statement takes at most: SQLite binds 32,766, MySQL 65,535.
const (
	columns   = 9
	maxValues = 32_766
)

// appendValues repeats the placeholders of append.sql, which end with those of one row. If the
// rows do not fit one statement, it runs several.
func (s *Store) appendValues(ctx context.Context, x sqltx.Execer, rows []log.Entry) error {
	at := strings.LastIndex(s.sql.append.text, "(")
	row := strings.TrimSpace(s.sql.append.text[at:])
	for some := range slices.Chunk(rows, maxValues/columns) {
		args := make([]any, 0, len(some)*columns)
		for i := range some {
			r := &some[i]
			args = append(args, r.Lane, r.MessageID, r.Topic, r.Key, r.Headers, sqllog.Payload(r), r.Labels[0], r.Labels[1], r.Labels[2])
		}
		if _, err := x.ExecContext(ctx, s.sql.append.text+strings.Repeat(", "+row, len(some)-1), args...); err != nil {
			return err
		}
	}
	return nil
}
