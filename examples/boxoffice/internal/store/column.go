package store

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Querier is a [sql.DB] or a [sql.Tx].
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// RowQuerier is a [sql.DB] or a [sql.Tx].
type RowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Each gives each row of a query to fn, until fn fails.
func Each(ctx context.Context, q Querier, query string, args []any, fn func(row *sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// List has what scan makes of each row of a query; never nil.
func List[T any](ctx context.Context, q Querier, query string, args []any, scan func(row *sql.Rows) (T, error)) ([]T, error) {
	all := []T{}
	err := Each(ctx, q, query, args, func(row *sql.Rows) error {
		one, err := scan(row)
		all = append(all, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Column returns the rows of a query, texts of one column; never nil.
func Column(ctx context.Context, q Querier, query string, args ...any) ([]string, error) {
	return List(ctx, q, query, args, func(row *sql.Rows) (s string, err error) {
		err = row.Scan(&s)
		return s, err
	})
}

// In makes IN ($first) fit n values; it must have the statement's last parameter.
func In(statement string, first, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = "$" + strconv.Itoa(first+i)
	}
	return strings.Replace(statement, "IN ($"+strconv.Itoa(first)+")", "IN ("+strings.Join(all, ", ")+")", 1)
}

var argument = regexp.MustCompile(`\$[0-9]+`)

// Insert runs an INSERT of one row for n rows, of which args has the values one after the
// other. The row ends with the line of VALUES.
func Insert(ctx context.Context, tx *sql.Tx, statement string, n int, args []any) error {
	if n == 0 {
		return nil
	}
	before, rest, _ := strings.Cut(statement, "VALUES ")
	row, after, _ := strings.Cut(rest, "\n")
	width := len(args) / n
	all := make([]string, n)
	for i := range all {
		all[i] = argument.ReplaceAllStringFunc(row, func(p string) string {
			at, err := strconv.Atoi(p[1:])
			if err != nil {
				return p // too large to be a parameter
			}
			return "$" + strconv.Itoa(at+i*width)
		})
	}
	_, err := tx.ExecContext(ctx, before+"VALUES "+strings.Join(all, ", ")+"\n"+after, args...)
	return err
}

// Args are texts as the arguments of a statement.
func Args(texts ...string) []any {
	args := make([]any, len(texts))
	for i, text := range texts {
		args[i] = text
	}
	return args
}

// Clip makes a text of another program fit for a row: without the NUL and the invalid
// UTF-8 that databases refuse, and of n bytes at most before an ellipsis.
func Clip(s string, n int) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
