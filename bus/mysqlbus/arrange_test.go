package mysqlbus

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

// While 16 writers commit out of the order of their ids, two processes give positions, and a
// reader follows them: every committed message gets one, none below a position that was read,
// and those of a key in the order of commits.
func TestPositionsUnderConcurrentWriters(t *testing.T) {
	servicetest.EachMySQL(t, testPositionsUnderConcurrentWriters)
}

func testPositionsUnderConcurrentWriters(t *testing.T, server servicetest.MySQLServer) {
	const writers, keys, rate, seconds, enough = 16, 200, 2000, 2, 20
	db := server.DB(t)
	db.SetMaxOpenConns(24)
	db.SetMaxIdleConns(24)
	dialect := newWatermillSQL()
	require.NoError(t, dialect.Prepare(t.Context(), db, "topic"))
	_, err := db.Exec(`CREATE TABLE numbers (k INT PRIMARY KEY, n INT NOT NULL)`)
	require.NoError(t, err)
	for k := range keys {
		_, err := db.Exec(`INSERT INTO numbers VALUES (?, 0)`, k)
		require.NoError(t, err)
	}
	writing, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	defer stop()
	var wg, arranging sync.WaitGroup
	var passes atomic.Int64
	for range 2 {
		arranging.Go(func() {
			for writing.Err() == nil {
				n, err := dialect.Arrange(t.Context(), db, "topic")
				if err != nil {
					t.Errorf("arrange: %v", err)
					return
				}
				if n > 0 {
					passes.Add(1)
				}
			}
		})
	}
	var committed atomic.Int64
	started := time.Now()
	for w := range writers {
		wg.Go(func() {
			// Longer on a slow machine, until positions were given often enough.
			for n := 0; n < rate*seconds/writers || passes.Load() < enough && time.Since(started) < time.Minute; n++ {
				<-time.After(time.Until(started.Add(time.Duration(n*writers+w) * time.Second / rate)))
				if err := publishNumber(t.Context(), db, rand.IntN(keys), n%10 == 0); err == nil {
					committed.Add(1)
				} else if err != errStop { //nolint:errorlint // sqltx hands it on as it is
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	read := make(chan int64, 1)
	go func() {
		last, seen, next := int64(0), int64(0), map[string]int{}
		defer func() { read <- seen }()
		for {
			over := writing.Err() != nil
			n, at, err := follow(db, last, dialect.last("topic"), next)
			if err != nil {
				t.Errorf("read: %v", err)
				return
			}
			last, seen = at, seen+n
			if n == 0 && over {
				return
			}
		}
	}()
	wg.Wait()
	wrote := time.Since(started)
	for { // the last commits
		n, err := dialect.Arrange(t.Context(), db, "topic")
		require.NoError(t, err)
		var left int
		var given int64
		const state = "SELECT COUNT(*), (SELECT last_position FROM wm_positions) FROM watermill_topic WHERE position IS NULL"
		require.NoError(t, db.QueryRow(state).Scan(&left, &given))
		if n == 0 && left == 0 && dialect.last("topic") == given {
			break
		}
	}
	stop()
	arranging.Wait()
	if n := <-read; n != committed.Load() || n == 0 {
		t.Errorf("the reader met %d of %d messages", n, committed.Load())
	}
	if passes.Load() < enough {
		t.Errorf("positions were given in %d passes only: nothing was concurrent", passes.Load())
	}
	t.Logf("%d messages at %.0f/s, positions in %d passes: none lost, none twice, none out of its key's order",
		committed.Load(), float64(committed.Load())/wrote.Seconds(), passes.Load())
}

var errStop = fmt.Errorf("roll back")

func publishNumber(ctx context.Context, db *sql.DB, key int, fail bool) error {
	return sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE numbers SET n = n + 1 WHERE k = ?`, key); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT n FROM numbers WHERE k = ?`, key).Scan(&n); err != nil {
			return err
		}
		pub, err := wmsql.NewPublisher(tx, wmsql.PublisherConfig{SchemaAdapter: newWatermillSQL().Schema()}, nil)
		if err != nil {
			return err
		}
		payload, err := json.Marshal([]int{key, n})
		if err != nil {
			return err
		}
		if err := pub.Publish("topic", message.NewMessage("1", payload)); err != nil {
			return err
		}
		<-time.After(time.Duration(rand.IntN(3)) * time.Millisecond)
		if fail {
			return errStop
		}
		return nil
	})
}

// follow reads the known positions after last, as the adapter does. They must be consecutive.
func follow(db *sql.DB, last, known int64, next map[string]int) (n, at int64, err error) {
	rows, err := db.Query("SELECT position, payload FROM watermill_topic WHERE position > ? AND position <= ? ORDER BY position LIMIT 500", last, known)
	if err != nil {
		return 0, last, err
	}
	defer rows.Close() //nolint:errcheck // a test's read
	for rows.Next() {
		var position int64
		var payload []byte
		if err := rows.Scan(&position, &payload); err != nil {
			return n, last, err
		}
		var m []int
		if err := json.Unmarshal(payload, &m); err != nil {
			return n, last, err
		}
		if position != last+1 {
			return n, last, fmt.Errorf("position %d after %d", position, last)
		}
		key := fmt.Sprint(m[0])
		if next[key]++; m[1] != next[key] {
			return n, last, fmt.Errorf("key %s: %d, want %d", key, m[1], next[key])
		}
		last = position
		n++
	}
	return n, last, rows.Err()
}

// Of two concurrent readers, the one with the older view may report last.
func TestKnownNeverGoesBack(t *testing.T) {
	w := newWatermillSQL()
	for _, given := range []int64{3, 7, 5} {
		w.learn("topic", given)
	}
	if got := w.last("topic"); got != 7 {
		t.Errorf("position %d is known after 3, 7 and 5, want 7", got)
	}
	var wg sync.WaitGroup
	for n := range int64(64) {
		wg.Go(func() { w.learn("topic", 1000-n) })
	}
	wg.Wait()
	if got := w.last("topic"); got != 1000 {
		t.Errorf("position %d is known, want the highest, 1000", got)
	}
}

// The adapter reads nothing beyond the known position, even if the table shows more.
func TestReadStopsAtWhatIsKnown(t *testing.T) { servicetest.EachMySQL(t, testReadStopsAtWhatIsKnown) }

func testReadStopsAtWhatIsKnown(t *testing.T, server servicetest.MySQLServer) {
	db := server.DB(t)
	dialect := newWatermillSQL()
	require.NoError(t, dialect.Prepare(t.Context(), db, "topic"))
	require.NoError(t, dialect.Join(t.Context(), db, "topic", "group"))
	_, err := db.Exec("INSERT INTO watermill_topic (uuid, payload, position) VALUES ('1', 'x', 1), ('2', 'x', 2)")
	require.NoError(t, err)
	_, err = db.Exec("UPDATE wm_positions SET last_position = 1")
	require.NoError(t, err)
	reads := func() (positions int) {
		q := dialect.Schema().SelectQuery("topic", "group", dialect.Offsets())
		err := db.QueryRow("SELECT COALESCE(SUM(position), 0) FROM ("+q.Query+") AS q", q.Args...).Scan(&positions)
		require.NoError(t, err)
		return positions
	}
	if got := reads(); got != 0 {
		t.Errorf("position %d is read before anything is known", got)
	}
	if n, err := dialect.Arrange(t.Context(), db, "topic"); n != 1 || err != nil {
		t.Errorf("Arrange found %d (%v), want 1 that is known now", n, err)
	}
	if got := reads(); got != 1 {
		t.Errorf("position %d is read, want 1", got)
	}
	_, err = db.Exec("UPDATE wm_offsets_topic SET offset_acked = 1")
	require.NoError(t, err)
	if got := reads(); got != 0 {
		t.Errorf("position %d is read beyond what is known", got)
	}
}
