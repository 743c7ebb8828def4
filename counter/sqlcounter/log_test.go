package sqlcounter_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/sqlcounter"
)

func changes(t *testing.T, db *sql.DB) int {
	t.Helper()
	var n int
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM count_changes`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Rows go when both counters of the log are done with them, and not before.
func TestTrim(t *testing.T) {
	each(t, func(t *testing.T, dialect sqlcounter.Dialect) {
		db, _ := pools(t, dialect)
		ctx := t.Context()
		logs := []*sqlcounter.Log{newLog(t, db, "comment", dialect), newLog(t, db, "like", dialect)}
		for _, l := range logs {
			if err := l.Append(ctx, db, counter.Change{Key: "a", N: 1}, counter.Change{Key: "b", N: 1}); err != nil {
				t.Fatal(err)
			}
		}
		for i, l := range logs {
			got, at, err := l.Read(ctx, "", 10)
			if err != nil || len(got) != 2 {
				t.Fatalf("read %v (%v)", got, err)
			}
			if _, err := l.Trim(ctx, at, 0, 1000); err != nil {
				t.Fatal(err)
			}
			if n := changes(t, db); n != 4-4*i {
				t.Errorf("%d rows are left when %d of 2 counters are done", n, i+1)
			}
		}
	})
}

// A full page of another counter's changes is not the end.
func TestReadGoesOnBehindOthers(t *testing.T) {
	each(t, func(t *testing.T, dialect sqlcounter.Dialect) {
		db, _ := pools(t, dialect)
		ctx := t.Context()
		mine, other := newLog(t, db, "comment", dialect), newLog(t, db, "like", dialect)
		for range 7 {
			if err := other.Append(ctx, db, counter.Change{Key: "x", N: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if err := mine.Append(ctx, db, counter.Change{Key: "a", N: 1}); err != nil {
			t.Fatal(err)
		}
		got, at, err := mine.Read(ctx, "", 3)
		if err != nil || len(got) != 1 || got[0].Key != "a" {
			t.Errorf("read %v (%v)", got, err)
		}
		if got, _, err := mine.Read(ctx, at, 3); err != nil || len(got) != 0 {
			t.Errorf("read again %v (%v)", got, err)
		}
	})
}

func TestForeignPosition(t *testing.T) {
	db, _ := pools(t, sqlcounter.SQLite)
	l := newLog(t, db, "comment", sqlcounter.SQLite)
	if _, _, err := l.Read(t.Context(), "nonsense", 3); err == nil || !strings.Contains(err.Error(), "position") {
		t.Errorf("%v", err)
	}
}

// A position of another PostgreSQL means nothing here, and is refused.
func TestRestoredElsewhere(t *testing.T) {
	db, peer := pools(t, sqlcounter.Postgres)
	ctx := t.Context()
	newLog(t, db, "comment", sqlcounter.Postgres)
	if _, err := db.ExecContext(ctx, `UPDATE count_cursors SET system_id = system_id - 1`); err != nil {
		t.Fatal(err)
	}
	l, err := sqlcounter.NewLog(peer, "comment", sqlcounter.LogConfig{Dialect: sqlcounter.Postgres})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Read(ctx, "", 3); err == nil || !strings.Contains(err.Error(), "another database system") {
		t.Errorf("%v", err)
	}
}
