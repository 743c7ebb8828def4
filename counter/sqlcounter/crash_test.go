package sqlcounter_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/rediscounter"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/sqltx"
)

const (
	writers = 50
	posts   = 20
)

// kills returns how many flushers are killed in each crash test: MILLRACE_KILLS, or a few.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("MILLRACE_KILLS")
	if text == "" {
		return 10
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("MILLRACE_KILLS is %q; give a number of flushers to kill", text)
	}
	return n
}

// TestKilledFlushers: flushers are killed at random points while 50 writers comment: the totals
// equal the rows.
func TestKilledFlushers(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		s := newScene(t, on, false)
		s.play(t, kills(t), nil)
		s.settle(t)
		s.check(t)
	})
}

// TestEverythingBreaks: writers crash between commit and addition, or add twice, or roll back;
// Redis is flushed in the middle; flushers are killed. The totals equal the rows, each of which
// was read once.
func TestEverythingBreaks(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		s := newScene(t, on, true)
		s.play(t, kills(t), func() {
			assert.NoError(t, s.redis.FlushAll(t.Context()).Err())
		})
		s.settle(t)
		s.check(t)
		var read, written int
		require.NoError(t, s.db.QueryRowContext(t.Context(), `SELECT sum(row_count) FROM count_batches`).Scan(&read))
		if written = changes(t, s.db); read != written || written == 0 {
			t.Errorf("%d change rows were read, of %d", read, written)
		}
		// A last round does not change finished work, whatever Redis holds.
		require.NoError(t, s.store.Add(t.Context(), "comment", "post-1", 100))
		r := s.round(t)
		if len(r.Batches) != 0 || len(r.Discarded) != 1 || r.Discarded[0].Deltas[0] != (driver.Delta{Key: "post-1", N: 100}) {
			t.Errorf("a round without changes: %+v", r)
		}
		s.check(t)
	})
}

// scene is a database with comments, and their writers.
type scene struct {
	setup
	db      *sql.DB
	redis   redis.UniversalClient
	store   driver.Store
	applier driver.SQLApplier
	log     driver.SQLLog
	last    *counter.Counter
	next    atomic.Int64 // the next comment's id
}

var errRollback = errors.New("the writer has changed its mind")

// comment writes a comment, and sometimes deletes it again. It adds the same delta to the store
// as a correct writer, unless faulty.
func (s *scene) comment(ctx context.Context, faulty bool) error {
	id, post := s.next.Add(1), fmt.Sprint("post-", rand.IntN(posts))
	if err := s.change(ctx, faulty, driver.Change{Key: post, N: 1},
		fmt.Sprintf(`INSERT INTO comments (id, post, deleted) VALUES (%d, '%s', 0)`, id, post)); err != nil {
		if errors.Is(err, errRollback) {
			return nil
		}
		return err
	}
	if rand.IntN(4) > 0 {
		return nil
	}
	err := s.change(ctx, faulty, driver.Change{Key: post, N: -1}, fmt.Sprintf(`UPDATE comments SET deleted = 1 WHERE id = %d`, id))
	if errors.Is(err, errRollback) {
		return nil
	}
	return err
}

func (s *scene) change(ctx context.Context, faulty bool, c driver.Change, query string) error {
	err := sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return err
		}
		if s.Sourced {
			if err := s.log.Append(ctx, tx, c); err != nil {
				return err
			}
		}
		if faulty && rand.IntN(20) == 0 {
			return errRollback
		}
		return nil
	})
	if err != nil {
		return err
	}
	adds := 1
	if faulty {
		adds = []int{1, 1, 1, 1, 1, 1, 1, 1, 0, 2}[rand.IntN(10)] // crashed, or repeated
	}
	for range adds {
		if err := s.store.Add(ctx, "comment", c.Key, c.N); err != nil {
			return err
		}
	}
	return nil
}

// play runs writers while n flushers are started and killed, with an incident in the middle.
func (s *scene) play(t *testing.T, n int, incident func()) {
	t.Helper()
	ended := make(chan struct{})
	// Without writers there would be nothing to flush, and to wait for.
	ctx, fail := context.WithCancelCause(t.Context())
	defer fail(nil)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for {
				if err := s.comment(ctx, incident != nil); err != nil {
					fail(err)
					return
				}
				select {
				case <-ended:
					return
				case <-time.After(rand.N(20 * time.Millisecond)): // writers pause
				}
			}
		})
	}
	for i := range n {
		kill := startChild(ctx, t, s.setup)
		time.Sleep(rand.N(100 * time.Millisecond)) // a random point of its work
		if incident != nil && i == n/2 {
			incident()
		}
		kill()
	}
	close(ended)
	wg.Wait()
	require.NoError(t, context.Cause(ctx))
	t.Logf("%d flushers killed during %d comments", n, s.next.Load())
}

// settle flushes until no work is left.
func (s *scene) settle(t *testing.T) {
	t.Helper()
	for {
		if r := s.round(t); !r.More && len(r.Batches)+len(r.Repeated)+len(r.Discarded) == 0 {
			return
		}
	}
}

// round returns the first successful round: the lease of the last killed flusher may still be
// valid, or a server may still execute its last request.
func (s *scene) round(t *testing.T) counter.Round {
	t.Helper()
	for {
		r, err := s.last.Flush(t.Context())
		if errors.Is(err, driver.ErrLeaseHeld) || errors.Is(err, driver.ErrLeaseLost) {
			continue
		}
		require.NoError(t, err)
		return r
	}
}

func (s *scene) check(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	var keys []string
	for i := range posts {
		keys = append(keys, fmt.Sprint("post-", i))
	}
	totals, err := s.applier.Totals(ctx, "comment", keys)
	require.NoError(t, err)
	pending, err := s.store.Pending(ctx, "comment", keys)
	require.NoError(t, err)
	for _, key := range keys {
		var rows int64
		require.NoError(t, s.db.QueryRowContext(ctx, `SELECT count(*) FROM comments WHERE deleted = 0 AND post = '`+key+`'`).Scan(&rows))
		if totals[key] != rows || pending[key] != 0 {
			t.Errorf("%s: total %d, pending %d, %d rows", key, totals[key], pending[key], rows)
		}
	}
	var batches int
	require.NoError(t, s.db.QueryRowContext(ctx, `SELECT count(*) FROM count_batches`).Scan(&batches))
	t.Logf("%d batches", batches)
	if aside, err := s.store.Aside(ctx, "comment"); err != nil || len(aside) > 0 {
		t.Errorf("aside %v (%v)", aside, err)
	}
}

func newScene(t *testing.T, on database, sourced bool) *scene {
	t.Helper()
	s := &scene{setup: setup{Dialect: on.Dialect, Database: on.address(t), Redis: redistest.StartServer(t).URL(), Sourced: sourced}}
	var err error
	if s.db, err = connect(on.Dialect, s.Database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		assert.NoError(t, s.db.Close())
	})
	s.redis = redistest.Open(t, s.Redis)
	if s.store, err = rediscounter.New(s.redis, rediscounter.Config{}); err != nil {
		t.Fatal(err)
	}
	if s.last, err = s.flusherOn(s.db, s.store, func() {}); err != nil {
		t.Fatal(err)
	}
	s.applier = migrated(t, s.db, on.Dialect)
	s.log = newLog(t, s.db, "comment", on.Dialect)
	_, err = s.db.ExecContext(t.Context(), `CREATE TABLE comments (id BIGINT PRIMARY KEY, post VARCHAR(40) NOT NULL, deleted INTEGER NOT NULL)`)
	require.NoError(t, err)
	return s
}
