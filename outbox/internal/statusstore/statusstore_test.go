package statusstore

import (
	"database/sql"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStatement(t *testing.T) {
	const text = "-- Comment with ?1 that's no parameter.\nSELECT a FROM b -- kept ?\nWHERE c = ?2 AND d > ?1 AND e < ?2\n"
	st := parse(text, "mysql")
	assert.Equal(t, "SELECT a FROM b -- kept ?\nWHERE c = ? AND d > ? AND e < ?\n", st.text, "MySQL's text")
	if got, want := st.args([]any{"one", "two"}), []any{"two", "one", "two"}; !reflect.DeepEqual(got, want) {
		t.Errorf("MySQL's arguments are %v, want %v", got, want)
	}
	st = parse(text, "sqlite3")
	if !strings.Contains(st.text, "?2 AND d > ?1") || len(st.args([]any{1, 2})) != 2 {
		t.Errorf("SQLite's text is %q with %v, want the numbers left alone", st.text, st.args([]any{1, 2}))
	}
}

// TestLateRows: rows become visible before a mark, as those of a transaction that commits late
// do.
func TestLateRows(t *testing.T) {
	_, db := servicetest.SQLite(t)
	exec := func(query string, args ...any) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), query, args...)
		require.NoError(t, err)
	}
	exec(`CREATE TABLE events (seq INTEGER PRIMARY KEY, pending INTEGER, id TEXT NOT NULL DEFAULT 'first')`)
	const columns = `SELECT seq, id, '', '', '', '', 0, 0, 0, 0, 0, 0 FROM events WHERE pending AND `
	p := &pending{
		db: db, ids: func(ids []int64) any { return sqlstore.Array(ids) },
		read: statement{text: columns + `?1 = 0 AND seq > ?2 ORDER BY seq LIMIT ?3`},
		late: statement{text: `SELECT seq, id FROM events WHERE pending AND ?1 = 0 AND seq <= ?2 ORDER BY seq`},
		some: statement{text: columns + `?1 = 0 AND seq IN (SELECT value FROM json_each(?2)) ORDER BY seq`},
	}
	commit := func(seqs ...int64) {
		t.Helper()
		for _, seq := range seqs {
			exec(`INSERT INTO events (seq, pending) VALUES (?1, 1)`, seq)
		}
	}
	var mark driver.Mark
	read := func(limit int, want ...int64) {
		t.Helper()
		b, err := p.Read(t.Context(), 0, mark, limit)
		require.NoError(t, err)
		var got []int64
		for _, it := range b.Items {
			got = append(got, it.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("read %v, want %v", got, want)
		}
		again, err := p.Read(t.Context(), 0, mark, limit) // a mark may be read from twice
		if err != nil || len(again.Items) != len(b.Items) {
			t.Errorf("reading from the same mark again returned %d events, %v; want %d", len(again.Items), err, len(b.Items))
		}
		mark = b.Next
	}
	commit(10, 20, 30, 40)
	read(2, 10, 20)
	commit(5, 15) // late, while 10 and 20 are in flight
	read(3, 5, 15, 30)
	read(3, 40)
	read(3)
	exec(`UPDATE events SET pending = 0 WHERE seq IN (10, 5)`)
	commit(7)
	read(3, 7)
	commit(1, 2, 3, 50)
	read(2, 1, 2) // the oldest first, when there is no room for all
	read(2, 3, 50)
	if n := len(mark.(*place).flight); n != 9 {
		t.Errorf("the mark holds %d events in flight, want the 9 that are not settled", n)
	}
	exec(`UPDATE events SET id = 'second' WHERE seq = 30`) // a crash lost the row, and another took its number
	read(2, 30)
	exec(`UPDATE events SET pending = 0`)
	read(2)
	if n := len(mark.(*place).flight); n != 0 {
		t.Errorf("the mark holds %d events in flight after all were settled", n)
	}
}

func TestForeignLease(t *testing.T) {
	if _, err := tenureOf(driver.Lease{State: &sql.DB{}}); err == nil {
		t.Error("a lease of another store was taken for ours")
	}
}
