package scenarios

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

// comments makes members write comments and delete a quarter of them, until stopped.
type comments struct {
	written, deleted atomic.Int64
	unknown          atomic.Int64 // deletions that were not answered, and may have happened
	stop             chan struct{}
	members          sync.WaitGroup
}

// comment makes members act on the URLs in turn. After a lost answer the database is
// asked: the comment may have been written.
func (o *office) comment(members int) *comments {
	o.t.Helper()
	c := &comments{stop: make(chan struct{})}
	urls := o.apis()
	for n := range members {
		token := o.login(urls[0], fmt.Sprint("writer-", n))
		c.members.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-c.stop:
					return
				default:
				}
				base := urls[(n+i)%len(urls)]
				var made struct{ ID string }
				if o.json(http.MethodPost, base+"/api/shows/show-1/comments", token, strings.NewReader(`{"text":"encore"}`), &made) != nil {
					_ = crowd.Sleep(o.t.Context(), 20*time.Millisecond) // the process is away for a moment
					continue
				}
				c.written.Add(1)
				if i%4 > 0 {
					continue
				}
				if o.json(http.MethodDelete, base+"/api/comments/"+made.ID, token, nil, nil) == nil {
					c.deleted.Add(1)
				} else {
					c.unknown.Add(1)
				}
			}
		})
	}
	return c
}

// some waits until n more comments were written.
func (c *comments) some(t testing.TB, n int64) {
	t.Helper()
	want := c.written.Load() + n
	eventually(t, "comments are written", func() bool { return c.written.Load() >= want })
}

// flushed deletes the data of Redis in the middle of comments, twice, and wants the
// totals to be those of the rows afterwards.
func flushed(t *testing.T, o *office, db *sql.DB, lose func()) {
	c := o.comment(4)
	count := func(query string) (n int64) {
		require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&n))
		return n
	}
	some := int64(often(t, 150, 40))
	for range 2 {
		c.some(t, some)
		lose()
		c.some(t, some)
	}
	close(c.stop)
	c.members.Wait()
	rows := count(`SELECT COUNT(*) FROM comments WHERE show_id = 'show-1' AND deleted_at IS NULL`)
	if told := c.written.Load() - c.deleted.Load() - c.unknown.Load(); rows < told {
		t.Errorf("%d comments are there, and members were told of %d", rows, told)
	}
	shown := func() int64 {
		var s struct{ CommentCount int64 }
		require.NoError(t, o.json(http.MethodGet, o.apis()[0]+"/api/shows/show-1", "", nil, &s))
		return s.CommentCount
	}
	total := `SELECT COALESCE(SUM(total), 0) FROM count_totals WHERE counter = 'comment' AND counter_key = 'show-1'`
	took := eventually(t, "the total is that of the rows", func() bool { return count(total) == rows && shown() == rows })
	// One more change shows that no earlier one is still in flight: the flusher takes
	// changes in order, and this comes last.
	token := o.login(o.apis()[0], "last")
	require.NoError(t, o.json(http.MethodPost, o.apis()[0]+"/api/shows/show-1/comments", token, strings.NewReader(`{"text":"last"}`), nil))
	eventually(t, "the last comment is counted", func() bool { return count(total) >= rows+1 })
	if n := count(total); n != rows+1 {
		t.Errorf("the total is %d, want that of the %d rows", n, rows+1)
	}
	eventually(t, "the show tells", func() bool { return shown() == rows+1 })
	measured(t, "%d comments, %d deleted, Redis lost twice; the total was that of the %d rows %v after the last one", c.written.Load(), c.deleted.Load(), rows, took.Round(time.Millisecond))
}

// Redis loses everything, deltas of comment counts among it, while members comment
// and delete: the totals are those of the rows after recovery.
func TestScenario24RedisFlushed(t *testing.T) {
	columns(t, func(t *testing.T) {
		// The state of the embedded Redis is in the office's process, and is lost with it.
		o := openOffice(t, officePlan{})
		db, err := sqlitedb.OpenReader(filepath.Join(o.dir, "boxoffice.db"), sqlitedb.Config{})
		require.NoError(t, err)
		t.Cleanup(func() { check(t, "close the reader", db.Close()) })
		flushed(t, o, db, func() { o.kill("office"); o.start("office") })
	}, func(t *testing.T) {
		c := startCluster(t)
		o := openOffice(t, officePlan{processes: apart(), redis: func(testing.TB) string { return c.url() }})
		db, err := pgdb.Open(o.db)
		require.NoError(t, err)
		t.Cleanup(func() { check(t, "close the pool", db.Close()) })
		flushed(t, o, db, c.flush)
	})
}
