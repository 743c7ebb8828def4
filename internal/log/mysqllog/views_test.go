package mysqllog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logtest"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// glass is a connector that makes a server behave as MariaDB does once in ten thousand commits:
// it shows a transaction without one that had committed before it.
type glass struct {
	driver.Connector
	before func(query string)                                                // runs before a statement is sent
	rows   func(query string, rows [][]driver.Value) (seen [][]driver.Value) // the rows that are seen
}

func (g *glass) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := g.Connector.Connect(ctx)
	return glazed{conn, g}, err
}

type glazed struct {
	driver.Conn
	g *glass
}

func (c glazed) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.g.before != nil {
		c.g.before(query)
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c glazed) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.g.before != nil {
		c.g.before(query)
	}
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	if err != nil || c.g.rows == nil {
		return rows, err
	}
	defer rows.Close() //nolint:errcheck // all is read
	out := &remembered{columns: rows.Columns()}
	for {
		row := make([]driver.Value, len(out.columns))
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		for i := range row {
			if b, ok := row[i].([]byte); ok {
				row[i] = slices.Clone(b) // the driver's buffer
			}
		}
		out.left = append(out.left, row)
	}
	out.left = c.g.rows(query, out.left)
	return out, nil
}

type remembered struct {
	columns []string
	left    [][]driver.Value
}

func (r *remembered) Columns() []string { return r.columns }
func (r *remembered) Close() error      { return nil }
func (r *remembered) Next(dest []driver.Value) error {
	if len(r.left) == 0 {
		return io.EOF
	}
	copy(dest, r.left[0])
	r.left = r.left[1:]
	return nil
}

// each runs a test for a server on which one look is enough, and for one on which it is not.
func each(t *testing.T, name string, test func(t *testing.T, inOrder string)) {
	t.Helper()
	for looks, inOrder := range map[string]string{"two looks": "FALSE", "one look": "TRUE"} {
		t.Run(name+", "+looks, func(t *testing.T) { test(t, inOrder) })
	}
}

// through opens a log, and another log on the same tables through a glass.
func through(t testing.TB, inOrder string) (clear, dim *Log, db *sql.DB, g *glass) {
	t.Helper()
	url := servicetest.Chosen(t).URL(t)
	c, err := mysqldb.Connector(url)
	require.NoError(t, err)
	g = &glass{Connector: c}
	db, through := mysqldb.Pool(c), mysqldb.Pool(g)
	t.Cleanup(func() { db.Close(); through.Close() })
	for db, l := range map[*sql.DB]**Log{db: &clear, through: &dim} {
		if *l, err = on(db, inside, Server, inOrder); err != nil {
			t.Fatal(err)
		}
	}
	clear.leap, dim.leap = dense, dense
	dim.inOrder.Store(inOrder == "TRUE") // as if it had looked before
	logtest.Migrate(t, clear, db)
	if _, err := clear.Lease(t.Context(), log.Cursor{Consumer: "c", Lane: 1}, "me", time.Minute); err != nil { // makes the lane
		t.Fatal(err)
	}
	return clear, dim, db, g
}

// readAll reads a lane to its end and returns the message ids.
func readAll(t testing.TB, l *Log) (ids []string) {
	t.Helper()
	for at := (log.Position{}); ; {
		page, next, err := l.Read(t.Context(), 1, at, 2*fewRows)
		require.NoError(t, err)
		if len(page) == 0 {
			return ids
		}
		for _, e := range page {
			ids = append(ids, e.MessageID)
		}
		at = next
	}
}

func appendIDs(t testing.TB, l *Log, db *sql.DB, ids ...string) {
	t.Helper()
	for _, id := range ids { // a transaction each
		require.NoError(t, l.Append(t.Context(), db, []log.Entry{{Lane: 1, Topic: "t", MessageID: id, Key: "k"}}))
	}
}

// number returns a column's value, which arrives as a number or as its digits.
func number(t testing.TB, v driver.Value) int64 {
	t.Helper()
	var n sql.NullInt64
	require.NoError(t, n.Scan(v))
	return n.Int64
}

// A look that shows a later transaction and hides an earlier one does not reverse their order.
func TestHiddenCommitKeepsItsPlace(t *testing.T) {
	servicetest.EachMySQL(t, testHiddenCommitKeepsItsPlace)
}

func testHiddenCommitKeepsItsPlace(t *testing.T, _ servicetest.MySQLServer) {
	l, dim, db, g := through(t, "FALSE")
	appendIDs(t, l, db, "a", "b", "c", "d")
	looks, hidden := 0, 0
	g.rows = func(query string, rows [][]driver.Value) [][]driver.Value {
		if query != l.sql.pending {
			return rows
		}
		all := len(rows)
		if looks++; looks == 1 {
			rows = slices.DeleteFunc(rows, func(row []driver.Value) bool { return number(t, row[2]) == 2 })
		}
		hidden += all - len(rows)
		return rows
	}
	if got := fmt.Sprint(readAll(t, dim)); got != "[a b c d]" || hidden != 1 {
		t.Errorf("read %s, with %d rows hidden at first, want [a b c d] with 1", got, hidden)
	}
}

// A look that shows the counter of the latest pass but hides the pass before it gives no row a
// second place.
func TestHiddenPassIsNotRepeated(t *testing.T) { servicetest.EachMySQL(t, testHiddenPassIsNotRepeated) }

func testHiddenPassIsNotRepeated(t *testing.T, _ servicetest.MySQLServer) {
	l, dim, db, g := through(t, "FALSE")
	appendIDs(t, l, db, "a", "b")
	require.Equal(t, "[a b]", fmt.Sprint(readAll(t, l)), "read")
	appendIDs(t, l, db, "c")
	looks := 0
	hidden := func(id int64) []driver.Value { return []driver.Value{int64(2), int64(0), id, ""} }
	g.rows = func(query string, rows [][]driver.Value) [][]driver.Value {
		if query == l.sql.pending {
			if looks++; looks == 1 {
				return append(rows, hidden(1), hidden(2))
			}
		}
		return rows
	}
	if last, err := dim.number(t.Context(), 1, log.Position{}); err != nil || last.place != 3 {
		t.Errorf("numbered up to %+v, %v; want 3", last, err)
	}
	if got := fmt.Sprint(readAll(t, l)); got != "[a b c]" || looks == 0 {
		t.Errorf("read %s afterwards, want [a b c]", got)
	}
}

// A read stops at the last place that was known before it: the rows it sees above may lack some
// between.
func TestReadStopsAtWhatIsKnown(t *testing.T) { servicetest.EachMySQL(t, testReadStopsAtWhatIsKnown) }

func testReadStopsAtWhatIsKnown(t *testing.T, _ servicetest.MySQLServer) {
	l, dim, db, g := through(t, "FALSE")
	appendIDs(t, l, db, "a")
	_, err := l.number(t.Context(), 1, log.Position{})
	require.NoError(t, err)
	passes := 0
	g.before = func(query string) {
		if query == l.sql.read && passes == 0 {
			passes++
			appendIDs(t, l, db, "b")
			_, err := l.number(t.Context(), 1, log.Position{})
			assert.NoError(t, err)
		}
	}
	page, next, err := dim.Read(t.Context(), 1, log.Position{}, 100)
	if err != nil || len(page) != 1 || passes != 1 {
		t.Fatalf("read %d entries beside %d passes, %v; want 1 and 1", len(page), passes, err)
	}
	page, _, err = dim.Read(t.Context(), 1, next, 100)
	if err != nil || len(page) != 1 || page[0].MessageID != "b" {
		t.Errorf("read on: %v, %v; want b", page, err)
	}
}

func TestSure(t *testing.T) {
	for _, tc := range []struct{ first, second, want []int64 }{
		{nil, nil, nil},
		{[]int64{1, 2, 3}, []int64{1, 2, 3}, []int64{1, 2, 3}},
		{[]int64{1, 3, 4}, []int64{1, 2, 3, 4}, []int64{1}}, // 2 may come before 3
		{[]int64{3, 4}, []int64{1, 3, 4}, nil},
		{[]int64{1, 2, 3}, []int64{3}, []int64{3}}, // 1 and 2 have places
		{[]int64{1, 2, 5}, []int64{2, 4, 5}, []int64{2}},
		{[]int64{1, 4}, []int64{1, 4, 5}, []int64{1, 4}}, // 5 comes after
		{[]int64{1, 2}, nil, nil},
	} {
		if got := Sure(tc.first, tc.second, func(id int64) int64 { return id }); !slices.Equal(got, tc.want) {
			t.Errorf("Sure(%v, %v) = %v, want %v", tc.first, tc.second, got, tc.want)
		}
	}
}

// The rows of the second look are returned only if they are all rows left by the pass and those
// before it: here they are behind rows of a pass that the first look hid.
func TestHiddenPassIsReadFirst(t *testing.T) { servicetest.EachMySQL(t, testHiddenPassIsReadFirst) }

func testHiddenPassIsReadFirst(t *testing.T, _ servicetest.MySQLServer) {
	l, dim, db, g := through(t, "FALSE")
	appendIDs(t, l, db, "a", "b")
	_, err := l.number(t.Context(), 1, log.Position{})
	require.NoError(t, err)
	appendIDs(t, l, db, "c")
	looks := 0
	g.rows = func(query string, rows [][]driver.Value) [][]driver.Value {
		if query != l.sql.pending {
			return rows
		}
		if looks++; looks == 1 {
			rows = slices.DeleteFunc(rows, func(row []driver.Value) bool { return number(t, row[0]) == 1 })
			for id := range int64(2) {
				rows = append(rows, []driver.Value{int64(2), int64(0), id + 1, ""})
			}
		}
		return rows
	}
	if got := fmt.Sprint(readAll(t, dim)); got != "[a b c]" || looks == 0 {
		t.Errorf("read %s, want [a b c]", got)
	}
}

// The next pass is prepared while one is under way. Each row is still read once, in the order of
// other readers, if before the next pass another reader is first, a row commits late, a crash
// undoes the pass under way, or many ids are missing, so that spans hold rows of the pass under
// way.
func TestLookAhead(t *testing.T) {
	servicetest.EachMySQL(t, func(t *testing.T, _ servicetest.MySQLServer) {
		const n = 3 * passSize / 2
		for name, between := range map[string]func(t testing.TB, l *Log, db *sql.DB){
			"nothing": func(testing.TB, *Log, *sql.DB) {},
			"another reader": func(t testing.TB, l *Log, _ *sql.DB) {
				_, err := l.number(t.Context(), 1, log.Position{})
				assert.NoError(t, err)
			},
			"a late row": func(t testing.TB, _ *Log, db *sql.DB) {
				_, err := db.Exec(`INSERT INTO log_messages (id, lane, topic, message_id, message_key, headers, payload)
					VALUES (1, 1, 't', 'late', 'k', '', '')`)
				assert.NoError(t, err)
			},
			"a crash": func(t testing.TB, _ *Log, db *sql.DB) {
				for _, undo := range []string{
					`UPDATE log_messages SET seq = 0`, `UPDATE log_messages_lanes SET next_seq = 1`,
				} {
					_, err := db.Exec(undo)
					assert.NoError(t, err)
				}
			},
			"missing ids": nil,
		} {
			each(t, name, func(t *testing.T, inOrder string) {
				l, dim, db, g := through(t, inOrder)
				for _, l := range []*Log{l, dim} {
					l.leap = randomLeap // so that places identify passes
				}
				if _, err := db.Exec(`ALTER TABLE log_messages AUTO_INCREMENT = 10`); err != nil {
					t.Fatal(err)
				}
				appendTo(t, l, db, n)
				between := between
				if between == nil {
					between = func(testing.TB, *Log, *sql.DB) {}
					_, err := db.Exec(`DELETE FROM log_messages WHERE id % 50 = 0`)
					require.NoError(t, err)
				}
				passes, looks := 0, 0
				g.before = func(query string) {
					switch query {
					case l.sql.pendingRows, l.sql.pendingWhole:
						looks++
					case l.sql.number, l.sql.numberRange:
						if passes++; passes == 2 {
							between(t, l, db)
						}
					}
				}
				var page []log.Entry
				var next log.Position
				var err error
				for max := passSize; err == nil && next.ID < lastPlace(t, db); max /= 2 {
					var more []log.Entry
					more, next, err = dim.Read(t.Context(), 1, next, max)
					if len(more) > max {
						t.Fatalf("read %d rows, want %d at most", len(more), max)
					}
					page = append(page, more...)
				}
				if name == "a crash" && errors.Is(err, log.ErrLeaseLost) {
					return // the place that was read is lost: the next holder starts over
				}
				require.NoError(t, err)
				again, _, err := l.Read(t.Context(), 1, log.Position{}, 2*n)
				require.NoError(t, err)
				if len(page) != len(again) || passes < 2 || looks < 2 {
					t.Fatalf("read %d rows in %d passes after %d looks, want %d", len(page), passes, looks, len(again))
				}
				for i := range page {
					if page[i].Position != again[i].Position {
						t.Fatalf("row %d is %+v, and another reader has %+v", i, page[i].Position, again[i].Position)
					}
				}
			})
		}
	})
}

// lastPlace returns the last place once every row has one.
func lastPlace(t testing.TB, db *sql.DB) (place int64) {
	t.Helper()
	var left int64
	require.NoError(t, db.QueryRow(`SELECT MAX(seq), SUM(seq = 0) FROM log_messages`).Scan(&place, &left))
	if left > 0 {
		return math.MaxInt64
	}
	return place
}

// A crash between a look and the pass loses the last two rows, and assigns the id of one, or of
// both, to another row: it is not mistaken for the row of the look.
func TestReusedIDsAreNotMistaken(t *testing.T) {
	servicetest.EachMySQL(t, func(t *testing.T, _ servicetest.MySQLServer) {
		const insert = `INSERT INTO log_messages (id, lane, topic, message_id, message_key, headers, payload)
			VALUES (?, 1, 't', 'new', 'k', '', '')`
		each(t, "crash", func(t *testing.T, inOrder string) {
			for _, n := range []int{3, 2 * fewRows} { // few rows, which a look reads, and many
				for _, reused := range [][]int{{n - 1}, {n}, {n - 1, n}} {
					l, dim, db, g := through(t, inOrder)
					want := make([]string, n)
					for i := range want {
						want[i] = fmt.Sprint("seen-", i)
					}
					appendIDs(t, l, db, want...)
					crashed := false
					g.before = func(query string) {
						if query != l.sql.number && query != l.sql.numberRange || crashed {
							return
						}
						crashed = true
						_, err := db.Exec(`DELETE FROM log_messages WHERE id > ?`, n-2)
						for _, id := range reused {
							_, e := db.Exec(insert, id)
							err = errors.Join(err, e)
						}
						assert.NoError(t, err)
					}
					want = append(want[:n-2], slices.Repeat([]string{"new"}, len(reused))...)
					if got := readAll(t, dim); !slices.Equal(got, want) || !crashed {
						t.Errorf("of %d rows, with new ones at %d: read %d, of which the last are %v; want %d",
							n, reused, len(got), got[max(0, len(got)-3):], len(want))
					}
				}
			}
		})
	})
}

// If one look shows whole commits, a pass needs no other. The same look reports this: behind a
// proxy the next one may be of another server.
func TestOneLookIsEnough(t *testing.T) {
	servicetest.EachMySQL(t, func(t *testing.T, server servicetest.MySQLServer) {
		l, dim, db, g := through(t, inOrder)
		var whole, again int
		g.before = func(query string) {
			switch query {
			case l.sql.pendingWhole:
				whole++
			case l.sql.pendingAgain, l.sql.pendingRows:
				again++
			}
		}
		elsewhere := false
		g.rows = func(query string, rows [][]driver.Value) [][]driver.Value {
			for _, row := range rows {
				if elsewhere && query == l.sql.pendingWhole && number(t, row[0]) == 0 {
					row[2] = number(t, row[2]) &^ 4
				}
			}
			return rows
		}
		var next log.Position
		read := func(id string, wantWhole, wantAgain int) {
			t.Helper()
			whole, again = 0, 0
			appendIDs(t, l, db, id)
			entries, at, err := dim.Read(t.Context(), 1, next, 2*fewRows)
			if err != nil || len(entries) != 1 || entries[0].MessageID != id || entries[0].CreatedAt.IsZero() || entries[0].Position.Server == "" {
				t.Fatalf("read %+v, %v; want %s", entries, err, id)
			}
			if next = at; whole != wantWhole || again != wantAgain {
				t.Errorf("%s: %d looks at whole rows and %d once more, want %d and %d", id, whole, again, wantWhole, wantAgain)
			}
		}
		if server.Name == "mariadb" {
			read("first", 0, 1)
			read("second", 0, 1)
			return
		}
		read("first", 0, 1) // the server was not known
		read("second", 1, 0)
		elsewhere = true
		read("of another server", 1, 1)
		elsewhere = false
		read("there again", 0, 1)
		read("and on", 1, 0)
	})
}
