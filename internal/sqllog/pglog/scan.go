package pglog

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/millrace-go/millrace/internal/sqllog"
)

// scan runs query and reads its rows; an opening query also completes w. Where
// the pool is pgx's own, rows are taken from its buffer as they came over the
// wire: reading is what bounds a relay that has a backlog, and the conversions
// of database/sql would be most of it.
func (l *Log) scan(ctx context.Context, lane, max int, w *window, query string, args []any) ([]sqllog.Entry, error) {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // returns the connection to the pool

	var entries []sqllog.Entry
	native := true
	err = conn.Raw(func(driverConn any) error {
		pc, ok := driverConn.(*stdlib.Conn)
		if !ok {
			native = false
			return nil
		}
		// Not as a prepared statement: after five executions the server may turn
		// to a plan that fits no position in particular, and sort the backlog.
		rows, err := pc.Conn().Query(ctx, query, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		entries, err = collectRaw(rows, lane, max, w)
		return err
	})
	if native || err != nil {
		return entries, err
	}
	rows, err := conn.QueryContext(ctx, query, args...) //nolint:rowserrcheck // collect checks it
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err is checked in collect
	return collect(rows, lane, max, w)
}

// collect reads the rows of a pool that is not pgx's own.
func collect(rows *sql.Rows, lane, max int, w *window) ([]sqllog.Entry, error) {
	entries := make([]sqllog.Entry, 0, min(max, 256))
	for rows.Next() {
		e := sqllog.Entry{Lane: lane}
		var to string
		if err := rows.Scan(&to, &w.end, &e.ID, &e.Topic, &e.MessageID, &e.Key, &e.Headers, &e.Payload, &e.CreatedAt); err != nil {
			return nil, err
		}
		if to != "" {
			w.to = to
		}
		if e.ID != 0 { // 0: the opening query's row for an empty window
			entries = append(entries, e)
		}
	}
	return entries, rows.Err()
}

// epoch is the zero of PostgreSQL's binary timestamps, in Unix microseconds.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// collectRaw is collect without conversions: the columns that are no text come
// in binary in the mode that scan asks for. Payloads of a batch share memory
// in chunks, and a topic or headers equal to those of the row before are the
// same string.
func collectRaw(rows pgx.Rows, lane, limit int, w *window) ([]sqllog.Entry, error) {
	entries := make([]sqllog.Entry, 0, min(limit, 256))
	var chunk []byte
	var last sqllog.Entry
	for rows.Next() {
		v := rows.RawValues()
		if len(v[0]) > 0 {
			w.to = string(v[0])
		}
		end, id, at, err := integers(v[1], v[2], v[8])
		if err != nil {
			return nil, err
		}
		w.end = end
		if id == 0 {
			continue // the opening query's row for an empty window
		}
		e := sqllog.Entry{
			Lane: lane, ID: id, MessageID: string(v[4]), Key: string(v[5]),
			Topic: same(last.Topic, v[3]), Headers: same(last.Headers, v[6]),
			CreatedAt: time.UnixMicro(epoch + at).UTC(),
		}
		if payload := v[7]; len(payload) > 0 {
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
	return entries, rows.Err()
}

// chunkSize is how many bytes of payload are allocated at once. A payload that
// somebody keeps keeps its chunk.
const chunkSize = 64 << 10

// same is string(b) without the copy when that equals s.
func same(s string, b []byte) string {
	if s == string(b) {
		return s
	}
	return string(b)
}

// integers decodes three 8-byte columns.
func integers(a, b, c []byte) (x, y, z int64, err error) {
	if len(a) != 8 || len(b) != 8 || len(c) != 8 {
		return 0, 0, 0, fmt.Errorf("pglog: the server sent columns of %d, %d and %d bytes instead of 8", len(a), len(b), len(c))
	}
	return int64(binary.BigEndian.Uint64(a)), int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(c)), nil
}
