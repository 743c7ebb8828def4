package sqltx_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/sqltx"
)

// failing returns a function that returns err in each of its first n runs, then nil.
func failing(n int, err error) func() error {
	return func() error {
		if n--; n < 0 {
			return nil
		}
		return err
	}
}

func TestDoRunsAgain(t *testing.T) {
	db, reader := open(t)
	conflict := onPostgres("40001")
	next := failing(3, conflict)
	runs, hooked := 0, 0
	var kept []context.Context
	err := sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
		runs++
		run := runs
		kept = append(kept, ctx)
		sqltx.AfterCommit(ctx, func() { hooked += run })
		return errors.Join(insert(ctx, tx), next())
	})
	if err != nil || runs != 4 || count(t, reader) != 1 {
		t.Errorf("Do = %v after %d runs with %d rows, want nil, 4, 1", err, runs, count(t, reader))
	}
	assert.Equalf(t, 4, hooked, "the hooks of the runs add up to %d, want only the last run's, 4", hooked)
	for i, ctx := range kept {
		err := sqltx.Do(ctx, db, func(context.Context, *sql.Tx) error { return nil })
		if !errors.Is(err, sqltx.ErrEnded) || sqltx.AfterCommit(ctx, func() {}) {
			t.Errorf("the context of run %d is still open: %v", i+1, err)
		}
	}
}

func TestDoGivesUp(t *testing.T) {
	db, reader := open(t)
	conflict := onMySQL(1213, "40001")
	for _, tc := range []struct {
		name string
		opts []sqltx.Options
		runs int
		says string
	}{
		{"default", nil, 20, "sqltx: the database rolled back each of 20 attempts: "},
		{"three", []sqltx.Options{{Attempts: 3}}, 3, "sqltx: the database rolled back each of 3 attempts: "},
		{"one", []sqltx.Options{{Attempts: 1}}, 1, conflict.Error()},
		{"none is one", []sqltx.Options{{Attempts: -1}}, 1, conflict.Error()},
	} {
		runs := 0
		err := sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
			runs++
			sqltx.AfterCommit(ctx, func() { t.Error("a hook of a run that was rolled back ran") })
			return errors.Join(insert(ctx, tx), conflict)
		}, tc.opts...)
		if !errors.Is(err, conflict) || !strings.HasPrefix(err.Error(), tc.says) || runs != tc.runs || count(t, reader) != 0 {
			t.Errorf("%s: Do = %v after %d runs, want the conflict after %d", tc.name, err, runs, tc.runs)
		}
	}
	if err := sqltx.Do(within(t), db, nil, sqltx.Options{}, sqltx.Options{}); err == nil || !strings.Contains(err.Error(), "give one") {
		t.Errorf("Do with two Options = %v, want an error", err)
	}
	// Other errors are not repeated, and are returned unchanged.
	runs := 0
	err := sqltx.Do(within(t), db, func(context.Context, *sql.Tx) error { runs++; return errWork })
	if err != errWork || runs != 1 { //nolint:errorlint // as it is
		t.Errorf("Do = %v after %d runs, want the work's own error after 1", err, runs)
	}
}

func TestDoStopsWithItsContext(t *testing.T) {
	db, _ := open(t)
	conflict := onPostgres("40P01")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := sqltx.Do(ctx, db, func(context.Context, *sql.Tx) error { return conflict }, sqltx.Options{Attempts: 1_000_000})
	if !errors.Is(err, conflict) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Do = %v, want the conflict and the context's end", err)
	}
}

// TestNestedConflict: a nested Do on the same database leaves the repetition to the outer Do,
// even if the function between them swallowed the conflict.
func TestNestedConflict(t *testing.T) {
	db, reader := open(t)
	for _, swallow := range []bool{false, true} {
		before := count(t, reader)
		next := failing(2, onPostgres("40001"))
		outer, inner := 0, 0
		err := sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
			outer++
			if err := insert(ctx, tx); err != nil {
				return err
			}
			err := sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
				inner++
				return errors.Join(insert(ctx, tx), next())
			})
			if swallow {
				return nil
			}
			return err
		})
		if err != nil || outer != 3 || inner != 3 || count(t, reader) != before+2 {
			t.Errorf("swallowed %v: Do = %v; %d outer and %d inner runs, %d new rows; want 3, 3, 2",
				swallow, err, outer, inner, count(t, reader)-before)
		}
	}
}

// TestConflictInsideAnotherDatabase: a Do inside another database's transaction does not
// repeat: its function would write twice in that transaction.
func TestConflictInsideAnotherDatabase(t *testing.T) {
	a, readerA := open(t)
	b, readerB := open(t)
	next := failing(2, onPostgres("40001"))
	outer, inner := 0, 0
	err := sqltx.Do(within(t), a, func(ctx context.Context, txA *sql.Tx) error {
		outer++
		return sqltx.Do(ctx, b, func(ctx context.Context, txB *sql.Tx) error {
			inner++
			return errors.Join(insert(ctx, txA), insert(ctx, txB), next())
		})
	})
	if err != nil || outer != 3 || inner != 3 || count(t, readerA) != 1 || count(t, readerB) != 1 {
		t.Errorf("Do = %v; %d outer and %d inner runs, rows %d and %d; want 3, 3, 1, 1",
			err, outer, inner, count(t, readerA), count(t, readerB))
	}
}

func TestPanicIsNotRepeated(t *testing.T) {
	db, reader := open(t)
	runs := 0
	func() {
		defer func() { _ = recover() }()
		_ = sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
			runs++
			_ = insert(ctx, tx)
			panic(onPostgres("40001"))
		})
	}()
	if runs != 1 || count(t, reader) != 0 {
		t.Errorf("%d runs and %d rows, want 1 and 0", runs, count(t, reader))
	}
}
