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
		if _, err := l.Lease(t.Context(), log.Cursor{Consumer: "c", Lane: lane}, "me", time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	other, _ := openWith(t, tables, pool(t, url))
	changed = make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- other.Watch(ctx, 20*time.Millisecond, func() { changed <- struct{}{} }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Watch returned %v, want context.Canceled", err)
		}
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
	if err := l.Append(t.Context(), late, entries(1, "c")); err != nil {
		t.Fatal(err)
	}
	add(t, l, db, 1, "d")
	wait(t, changed, "a further commit")
	want(t, l, 1, log.Position{}, "a", "d")
	commit(t, late)
	wait(t, changed, "a commit with an id below those read")
	want(t, l, 2, log.Position{}, "b")
	want(t, l, 1, log.Position{}, "a", "d", "c")
	add(t, l, db, 1, "e")
	wait(t, changed, "the last commit")
	if n := len(changed); n != 0 {
		t.Errorf("%d changes were reported where there were none", n)
	}
}

// A watcher whose poll fails reports changes that it may have missed.
func TestWatchReconnects(t *testing.T) { servicetest.EachMySQL(t, testWatchReconnects) }

func testWatchReconnects(t *testing.T, server servicetest.MySQLServer) {
	url := server.URL(t)
	l, db := openWith(t, tables, pool(t, url))
	if _, err := l.Lease(t.Context(), log.Cursor{Consumer: "c", Lane: 1}, "me", time.Minute); err != nil {
		t.Fatal(err)
	}
	under, err := mysqldb.Connector(url)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Connector: under}
	cut := sql.OpenDB(c)
	defer cut.Close()
	other, err := mysqllog.New(cut, tables)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Watch returned %v, want context.Canceled", err)
	}
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
