package logbus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/onedb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTranslate(t *testing.T) {
	busy, bad := errors.New("deadlock"), errors.New("constraint")
	d := &Driver{parts: Parts{Name: "xbus", Classify: func(err error) fault.Class {
		switch {
		case errors.Is(err, busy):
			return fault.Transient
		case errors.Is(err, bad):
			return fault.Permanent
		}
		return fault.Unclassified
	}}}
	if d.translate(nil) != nil {
		t.Error("no error became one")
	}
	if err := d.translate(fmt.Errorf("x: %w", logsub.ErrClosed)); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("a closed hub: %v", err)
	}
	for _, tc := range []struct {
		err  error
		want fault.Class
	}{
		{fmt.Errorf("x: %w", context.DeadlineExceeded), fault.Infrastructure},
		{fmt.Errorf("x: %w", busy), fault.Transient},
		{fmt.Errorf("x: %w", bad), fault.Permanent},
		{fault.MarkPermanent(errors.New("x")), fault.Permanent},
		{errors.New("x"), fault.Transient}, // an unknown error
	} {
		err := d.translate(tc.err)
		if got := fault.Of(err); got != tc.want || !strings.HasPrefix(err.Error(), "xbus: ") {
			t.Errorf("%v: %v (%v), want %v", tc.err, err, got, tc.want)
		}
	}
}

// If Open fails for any reason, the resources of the transport's package are closed.
func TestOpenFails(t *testing.T) {
	_, db := servicetest.SQLite(t)
	whole := fstest.MapFS{}
	for _, name := range []string{"topics", "topic", "ensure_topic", "groups", "beat", "bury", "members", "leave", "position", "browse"} {
		whole[name+".sql"] = &fstest.MapFile{Data: []byte("SELECT nothing FROM nowhere")}
	}
	part := fstest.MapFS{"topics.sql": whole["topics.sql"]}
	for name, p := range map[string]Parts{
		"a statement is missing": {SQL: part},
		"no log":                 {SQL: whole},
	} {
		closed := false
		p.Name, p.DB = "xbus", db
		p.Classify = func(error) fault.Class { return fault.Infrastructure }
		p.Close = func() error { closed = true; return nil }
		d, err := Open(p, logsub.Config{})
		if err == nil {
			d.Close()
			t.Errorf("%s: opened", name)
		}
		if !closed {
			t.Errorf("%s: what was opened stays open: %v", name, err)
		}
		if name == "a statement is missing" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// conflict is a serialization failure of PostgreSQL.
type conflict struct{ error }

func (conflict) SQLState() string { return "40001" }

// appends is a log that records where it appends.
type appends struct {
	sqllog.Log
	into []sqltx.Execer
	fail error // of appends outside a transaction
}

func (a *appends) Append(_ context.Context, x sqltx.Execer, _ []log.Entry) error {
	a.into = append(a.into, x)
	if _, tx := x.(*sql.Tx); tx {
		return nil
	}
	return a.fail
}

// An Append of one statement needs no transaction, unless it has to be repeated in one, or the
// context has one.
func TestAppend(t *testing.T) {
	_, db := servicetest.SQLite(t)
	broken := errors.New("the disk is full")
	for name, tc := range map[string]struct {
		several, joins bool
		fail, err      error
		direct, inTx   int
	}{
		"one statement":             {direct: 1},
		"several":                   {several: true, inTx: 1},
		"in the caller's":           {joins: true, inTx: 1},
		"one statement, a conflict": {fail: conflict{errors.New("could not serialize access")}, direct: 1, inTx: 1},
		"one statement, refused":    {fail: broken, err: broken, direct: 1},
	} {
		t.Run(name, func(t *testing.T) {
			rows := &appends{fail: tc.fail}
			d := &Driver{parts: Parts{DB: db, App: db, Log: rows, OneStatement: !tc.several}, pools: onedb.New(db, db, nil)}
			add := func(ctx context.Context) error { return d.append(ctx, []log.Entry{{MessageID: "1"}}) }
			var mine *sql.Tx
			var err error
			if tc.joins {
				err = sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error { mine = tx; return add(ctx) })
			} else {
				err = add(t.Context())
			}
			if !errors.Is(err, tc.err) {
				t.Errorf("appending returned %v, want %v", err, tc.err)
			}
			direct, inTx := 0, 0
			for _, x := range rows.into {
				switch tx, is := x.(*sql.Tx); {
				case !is:
					direct++
				case mine == nil || tx == mine:
					inTx++
				}
			}
			if direct != tc.direct || inTx != tc.inTx {
				t.Errorf("%d appends without a transaction and %d in one, want %d and %d", direct, inTx, tc.direct, tc.inTx)
			}
		})
	}
}
