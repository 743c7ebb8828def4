package sqlitelog_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/log/sqlitelog"
)

func TestWatch(t *testing.T) {
	log, db, path := open(t, tables)
	changed := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sqlitelog.Watch(ctx, reader(t, path), func() { changed <- struct{}{} }) }()
	wait(t, changed, "the first look")

	add(t, log, db, 1, "a")
	add(t, log, db, 3, "b")
	wait(t, changed, "a commit")
	lanes, last, err := log.LanesAfter(t.Context(), 0)
	if err != nil || fmt.Sprint(lanes) != "[1 3]" || last != 2 {
		t.Errorf("lanes after 0: %v up to %d (%v), want [1 3] up to 2", lanes, last, err)
	}
	if id, err := log.LastID(t.Context()); err != nil || id != last {
		t.Errorf("the last id is %d (%v), want %d", id, err, last)
	}
	lanes, last, err = log.LanesAfter(t.Context(), last)
	if err != nil || len(lanes) != 0 || last != 2 {
		t.Errorf("lanes after the last: %v up to %d (%v), want none", lanes, last, err)
	}
	cancel()
	assert.ErrorIs(t, <-ended, context.Canceled, "Watch")
}

// A watcher whose connection breaks opens another, and reports changes that it may have missed.
func TestWatchReconnects(t *testing.T) {
	log, db, path := open(t, tables)
	c := &cutter{driver: db.Driver(), path: path}
	r := sql.OpenDB(c)
	defer r.Close()
	changed := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sqlitelog.Watch(ctx, r, func() { changed <- struct{}{} }) }()
	wait(t, changed, "the first look")

	c.cut.Store(true)
	for c.failed.Load() == 0 {
		runtime.Gosched()
	}
	add(t, log, db, 1, "a")
	c.cut.Store(false)
	wait(t, changed, "a commit while the watcher was away")
	add(t, log, db, 1, "b")
	wait(t, changed, "a commit after it came back")
	cancel()
	<-ended
}

// cutter opens connections whose queries fail while cut is set.
type cutter struct {
	driver driver.Driver
	path   string
	cut    atomic.Bool
	failed atomic.Int32
}

func (c *cutter) Driver() driver.Driver { return c.driver }

func (c *cutter) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open("file:" + c.path)
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
