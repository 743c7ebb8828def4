package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing/fstest"
	"time"
)

// Migrations picks the NNNN_name.sql files.
func Migrations(files fs.FS) (fs.FS, error) {
	names, err := fs.Glob(files, "[0-9]*.sql")
	if err != nil {
		return nil, fmt.Errorf("outbox: migrations: %w", err)
	}
	out := fstest.MapFS{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("outbox: migrations: %w", err)
		}
		out[name] = &fstest.MapFile{Data: text}
	}
	return out, nil
}

// Querier is a pool or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Each runs a query and calls row for each of its rows.
func Each(ctx context.Context, q Querier, query string, args []any, row func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err is checked below
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Array returns a JSON array, which all databases can expand in SQL.
func Array[T int64 | string](values []T) string {
	text, err := json.Marshal(values)
	if err != nil {
		return "[]" // integers and strings always marshal
	}
	return string(text)
}

// longestError bounds the stored text of an error, in bytes.
const longestError = 2000

// Clean makes an error's text fit a text column.
func Clean(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
	if len(s) > longestError {
		s = strings.ToValidUTF8(s[:longestError], "") + "…"
	}
	return s
}

// Micros returns a duration of n microseconds.
func Micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// Instant returns the time n microseconds after 1970, and the zero time for 0.
func Instant(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
