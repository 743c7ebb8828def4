package mysqllog_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/mysqllog"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// watched registers lanes 1 and 2, and watches through a pool of its own.
func watched(t *testing.T) (l *mysqllog.Log, db *sql.DB, changed chan struct{}) {
	t.Helper()
	url := servicetest.Chosen(t).URL(t)
	l, db = openWith(t, tables, pool(t, url))
	for lane := 1; lane <= 2; lane++ {
		_, err := l.Lease(t.Context(), log.Cursor{Consumer: "c", Lane: lane}, "me", time.Minute)
		require.NoError(t, err)
	}
	other, _ := openWith(t, tables, pool(t, url))
	changed = make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- other.Watch(ctx, 20*time.Millisecond, func() { changed <- struct{}{} }) }()
	t.Cleanup(func() {
		cancel()
		assert.ErrorIs(t, <-ended, context.Canceled, "Watch")
	})
	wait(t, changed, "the first look")
	return l, db, changed
}

func TestWatch(t *testing.T) { servicetest.EachMySQL(t, testWatch) }

func testWatch(t *testing.T, _ servicetest.MySQLServer) {
	l, db, changed := watched(t)
	add(t, l, db, 1, "a")
	wait(t, changed, "a commit")
	add(t, l, db, 2, "b") // lane 1 has not been read yet, and is not reported again
	wait(t, changed, "a commit in another lane")
	late := begin(t, db)
	require.NoError(t, l.Append(t.Context(), late, entries(1, "c")))
	add(t, l, db, 1, "d")
	wait(t, changed, "a further commit")
	want(t, l, 1, log.Position{}, "a", "d")
	commit(t, late)
	wait(t, changed, "a commit with an id below those read")
	want(t, l, 2, log.Position{}, "b")
	want(t, l, 1, log.Position{}, "a", "d", "c")
	add(t, l, db, 1, "e")
	wait(t, changed, "the last commit")
	assert.Equal(t, 0, len(changed), "changes were reported where there were none")
}

// A watcher whose poll fails reports changes that it may have missed.
func TestWatchReconnects(t *testing.T) { servicetest.EachMySQL(t, testWatchReconnects) }

func testWatchReconnects(t *testing.T, server servicetest.MySQLServer) {
	url := server.URL(t)
	l, db := openWith(t, tables, pool(t, url))
	_, err := l.Lease(t.Context(), log.Cursor{Consumer: "c", Lane: 1}, "me", time.Minute)
	require.NoError(t, err)
	under, err := mysqldb.Connector(url)
	require.NoError(t, err)
	c := &cutter{Connector: under}
	cut := sql.OpenDB(c)
	defer cut.Close()
	other, err := mysqllog.New(cut, tables)
	require.NoError(t, err)
	changed := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- other.Watch(ctx, 0, func() { changed <- struct{}{} }) }()
	wait(t, changed, "the first look")

	c.cut.Store(true)
	for c.failed.Load() == 0 {
		runtime.Gosched()
	}
	add(t, l, db, 1, "a")
	c.cut.Store(false)
	wait(t, changed, "a commit while the watcher was away")
	add(t, l, db, 1, "b")
	wait(t, changed, "a commit after it came back")
	cancel()
	assert.ErrorIs(t, <-ended, context.Canceled, "Watch")
}

// cutter opens connections whose queries fail while cut is set.
type cutter struct {
	driver.Connector
	cut    atomic.Bool
	failed atomic.Int32
}

func (c *cutter) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return cuttable{conn, c}, err
}

type cuttable struct {
	driver.Conn
	c *cutter
}

func (q cuttable) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if q.c.cut.Load() {
		q.c.failed.Add(1)
		return nil, errors.New("the connection is cut")
	}
	return q.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func wait(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s was not reported", what)
	}
}
