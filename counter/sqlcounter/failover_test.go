package sqlcounter_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
	"github.com/millrace-go/millrace/sqltx"
)

// losing is a log whose database loses the newest rows right after they were read, once.
type losing struct {
	driver.SQLLog
	lose func()
}

func (l *losing) Read(ctx context.Context, after string, limit int) ([]driver.Change, string, error) {
	out, next, err := l.SQLLog.Read(ctx, after, limit)
	if len(out) > 0 && l.lose != nil {
		l.lose()
		l.lose = nil
	}
	return out, next, err
}

// TestFailoverBetweenReadAndApply: between the read of change rows and their transaction the
// database loses its last commits, and other rows take the ids. Lost rows are not counted,
// remaining rows are.
func TestFailoverBetweenReadAndApply(t *testing.T) {
	for _, on := range databases {
		if on.Dialect == sqltx.Postgres {
			continue // it takes back ids as well, and its positions include transaction ids
		}
		t.Run(on.name, func(t *testing.T) {
			db, _ := pools(t, on)
			ctx := t.Context()
			applier := migrated(t, db, on.Dialect)
			log := newLog(t, db, "comment", on.Dialect)
			change := func(keys ...string) {
				t.Helper()
				for _, key := range keys {
					require.NoError(t, add(t, db, log, driver.Change{Key: key, N: 1}))
				}
			}
			source := &losing{SQLLog: log}
			f, err := counter.New("comment", memcounter.New(), counter.Config{Applier: applier, Source: source})
			require.NoError(t, err)
			change("old")
			_, err = f.Flush(ctx)
			require.NoError(t, err)
			change("lost", "lost")
			source.lose = func() {
				undo(t, db, on.Dialect)
				change("new", "new")
			}
			if _, err := f.Flush(ctx); !errors.Is(err, driver.ErrLeaseLost) {
				t.Errorf("applying what has gone: %v, want %v", err, driver.ErrLeaseLost)
			}
			change("newer")
			_, err = f.Flush(ctx)
			require.NoError(t, err)
			got, err := applier.Totals(ctx, "comment", []string{"old", "lost", "new", "newer"})
			if err != nil || got["old"] != 1 || got["lost"] != 0 || got["new"] != 2 || got["newer"] != 1 {
				t.Errorf("totals %v, %v; want old 1, lost 0, new 2, newer 1", got, err)
			}
		})
	}
}

// undo deletes the two newest rows and, if places are assigned to rows, their places.
func undo(t *testing.T, db *sql.DB, dialect sqltx.Dialect) {
	t.Helper()
	statements := []string{`DELETE FROM count_changes WHERE id > 1`}
	if dialect == sqltx.MySQL {
		statements = append(statements, `ALTER TABLE count_changes AUTO_INCREMENT = 2`,
			`UPDATE count_changes_lanes SET next_seq = (SELECT MAX(seq) + 1 FROM count_changes)`)
	}
	for _, s := range statements {
		_, err := db.ExecContext(t.Context(), s)
		require.NoError(t, err)
	}
}
