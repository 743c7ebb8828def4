package sqlidempotency

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/sqlrows"
	"github.com/millrace-go/millrace/sqltx"
)

// chunk is how many keys one statement takes; a larger batch is claimed in several statements.
// Larger chunks save no time per key.
const chunk = 1000

// OnceBatch records the new keys with one statement and runs fn in the same
// transaction; see [driver.BatchStore].
func (s *store) OnceBatch(ctx context.Context, records []driver.Record, fn func(ctx context.Context, fresh []int) error) ([]int, error) {
	b, err := s.batch(records)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	var fresh []int
	_, err = s.do(ctx, func() string { return records[fresh[0]].Key }, func(ctx context.Context, tx *sql.Tx) (bool, error) {
		var err error
		fresh, err = s.claim(ctx, tx, b)
		return len(fresh) > 0, err
	}, func(ctx context.Context) error { return fn(ctx, fresh) })
	if err != nil {
		return nil, wrap(err, "record %d keys", len(records))
	}
	return fresh, nil
}

// Fresh records the new keys in the transaction that ctx carries; see [driver.BatchStore].
// On MySQL a deadlock with another batch ends that transaction; sqltx.Do then runs it again.
func (s *store) Fresh(ctx context.Context, records []driver.Record) ([]int, error) {
	if _, ok := sqltx.On(ctx, s.db); !ok {
		return nil, driver.ErrNoTransaction
	}
	b, err := s.batch(records)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	var fresh []int
	// This joins the transaction, so that an error that the caller ignores dooms it.
	err = sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		fresh, err = s.claim(ctx, tx, b)
		return err
	})
	if err != nil {
		return nil, wrap(err, "record %d keys", len(records))
	}
	return fresh, nil
}

// batch holds a batch's rows without the repeated ones, sorted by key: batches that overlap
// then lock their keys in the same order.
type batch struct {
	rows      [][]string
	positions map[string]int // the position of each row's record
}

// ident joins the columns of a row's key.
func (s *store) ident(row []string) string {
	if !s.cfg.ProcessedEvents {
		return row[0]
	}
	return row[0] + "\x00" + row[1]
}

func (s *store) batch(records []driver.Record) (batch, error) {
	b := batch{rows: make([][]string, 0, len(records)), positions: make(map[string]int, len(records))}
	for i, r := range records {
		row, err := s.cfg.row(r)
		if err != nil {
			return batch{}, err
		}
		id := s.ident(row)
		if _, twice := b.positions[id]; !twice {
			b.positions[id] = i
			b.rows = append(b.rows, row)
		}
	}
	slices.SortFunc(b.rows, func(x, y []string) int {
		return cmp.Or(strings.Compare(x[0], y[0]), strings.Compare(x[1], y[1]))
	})
	return b, nil
}

// claim inserts the rows and returns the positions of the new ones, in order.
func (s *store) claim(ctx context.Context, tx *sql.Tx, b batch) ([]int, error) {
	var fresh []int
	for rows := range slices.Chunk(b.rows, chunk) {
		text, err := json.Marshal(rows)
		if err != nil {
			return nil, err
		}
		if s.cfg.Dialect == sqltx.MySQL {
			fresh, err = s.claimMySQL(ctx, tx, b, rows, string(text), fresh)
		} else {
			fresh, err = s.collect(ctx, tx, b, fresh, s.insertMany, string(text))
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(fresh)
	return fresh, nil
}

// claimMySQL claims without RETURNING, which MySQL does not have, nor MariaDB with this form of
// INSERT. Usually all keys are new and the insert is enough; otherwise the rows with the
// batch's number are read.
func (s *store) claimMySQL(ctx context.Context, tx *sql.Tx, b batch, rows [][]string, text string, fresh []int) ([]int, error) {
	number := rand.Int64()
	res, err := tx.ExecContext(ctx, s.insertMany, number, text)
	if err != nil {
		return nil, err
	}
	duplicates, err := res.LastInsertId()
	if err != nil {
		return nil, err
	}
	if duplicates == 0 {
		for _, row := range rows {
			fresh = append(fresh, b.positions[s.ident(row)])
		}
		return fresh, nil
	}
	return s.collect(ctx, tx, b, fresh, s.picked, text, number)
}

// collect runs a statement that returns keys, and appends their positions.
func (s *store) collect(ctx context.Context, tx *sql.Tx, b batch, fresh []int, query string, a ...any) ([]int, error) {
	row := make([]string, 2)
	into := []any{&row[0]}
	if s.cfg.ProcessedEvents {
		into = append(into, &row[1])
	}
	err := sqlrows.Each(ctx, tx, func(rows *sql.Rows) error {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		i, ok := b.positions[s.ident(row)]
		if !ok {
			return fmt.Errorf("the database returned the key %q, which is none of the batch's", row)
		}
		fresh = append(fresh, i)
		return nil
	}, query, a...)
	return fresh, err
}
