// Package sqlrows reads the rows of a query.
//
//	ids, err := sqlrows.Column[int64](ctx, db, `SELECT id FROM events WHERE lane = ?`, lane)
//
//	property                                       proven by
//	rows are closed, and the error of each step is
//	returned                                       TestEach
//	rows come in their order                       TestAll
package sqlrows

import (
	"context"
	"database/sql"
)

// Querier is a pool, a connection or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Each calls row for each row of a query, until it returns an error.
func Each(ctx context.Context, db Querier, row func(*sql.Rows) error, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
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

// All returns what scan makes of each row of a query.
func All[T any](ctx context.Context, db Querier, scan func(*sql.Rows) (T, error), query string, args ...any) (all []T, err error) {
	err = Each(ctx, db, func(rows *sql.Rows) error {
		one, err := scan(rows)
		all = append(all, one)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Column returns the only column of a query.
func Column[T any](ctx context.Context, db Querier, query string, args ...any) ([]T, error) {
	return All(ctx, db, func(rows *sql.Rows) (one T, err error) {
		err = rows.Scan(&one)
		return one, err
	}, query, args...)
}
