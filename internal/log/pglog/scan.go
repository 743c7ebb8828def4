package pglog

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/pgdb"
)

// scan runs query and reads its rows, and the text of the first row, which describes the window.
// If the pool is pgx's own, rows are taken from its buffer in their wire format: reading limits
// a relay with a backlog, and the conversions of database/sql would be most of its cost.
func (l *Log) scan(ctx context.Context, lane, limit int, query string, args []any) (entries []log.Entry, head string, err error) {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, "", err
	}
	defer conn.Close() //nolint:errcheck // returns the connection to the pool

	native := true
	err = conn.Raw(func(driverConn any) error {
		c, ok := pgdb.Conn(driverConn)
		if !ok {
			native = false
			return nil
		}
		// Not as a prepared statement: after five executions the server may switch to a generic
		// plan that fits no position, and sort the backlog.
		rows, err := c.Query(ctx, query, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		entries, head, err = collectRaw(rows, lane, limit)
		return err
	})
	if native || err != nil {
		return entries, head, err
	}
	rows, err := conn.QueryContext(ctx, query, args...) //nolint:rowserrcheck // collect checks it
	if err != nil {
		return nil, "", err
	}
	defer rows.Close() //nolint:errcheck // Err is checked in collect
	return collect(rows, lane, limit)
}

// collect reads the rows of a pool that is not pgx's own.
func collect(rows *sql.Rows, lane, limit int) (entries []log.Entry, head string, err error) {
	entries = make([]log.Entry, 0, min(limit, 256))
	for rows.Next() {
		e := log.Entry{Lane: lane}
		var text string
		if err := rows.Scan(&text, &e.ID, &e.Topic, &e.MessageID, &e.Key, &e.Headers, &e.Payload, &e.CreatedAt); err != nil {
			return nil, "", err
		}
		if e.ID == 0 {
			head = text
			continue
		}
		entries = append(entries, e)
	}
	return entries, head, rows.Err()
}

// epoch is the zero of PostgreSQL's binary timestamps, in Unix microseconds.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// collectRaw is collect without conversions: the non-text columns arrive in binary in the mode
// that scan requests. Payloads of a batch share memory in chunks, and a topic or headers equal
// to those of the row before share the same string.
func collectRaw(rows pgx.Rows, lane, limit int) (entries []log.Entry, head string, err error) {
	entries = make([]log.Entry, 0, min(limit, 256))
	var chunk []byte
	var last log.Entry
	for rows.Next() {
		v := rows.RawValues()
		id, at, err := integers(v[1], v[7])
		if err != nil {
			return nil, "", err
		}
		if id == 0 {
			head = string(v[0])
			continue
		}
		e := log.Entry{
			Lane: lane, ID: id, MessageID: string(v[3]), Key: string(v[4]),
			Topic: same(last.Topic, v[2]), Headers: same(last.Headers, v[5]),
			CreatedAt: time.UnixMicro(epoch + at).UTC(),
		}
		if payload := v[6]; len(payload) > 0 {
			if cap(chunk)-len(chunk) < len(payload) {
				chunk = make([]byte, 0, max(len(payload), chunkSize))
			}
			start := len(chunk)
			chunk = append(chunk, payload...)
			e.Payload = chunk[start:len(chunk):len(chunk)]
		}
		entries = append(entries, e)
		last = e
	}
	return entries, head, rows.Err()
}

// chunkSize is how many bytes of payload are allocated at once. A retained payload retains its
// chunk.
const chunkSize = 64 << 10

// same returns string(b), without the copy if it equals s.
func same(s string, b []byte) string {
	if s == string(b) {
		return s
	}
	return string(b)
}

// integers decodes two 8-byte columns.
func integers(a, b []byte) (x, y int64, err error) {
	if len(a) != 8 || len(b) != 8 {
		return 0, 0, fmt.Errorf("pglog: the server sent columns of %d and %d bytes instead of 8", len(a), len(b))
	}
	return int64(binary.BigEndian.Uint64(a)), int64(binary.BigEndian.Uint64(b)), nil
}
