package logbus

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/onedb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// If Open fails for any reason, the resources of the transport's package are closed.
func TestOpenFails(t *testing.T) {
	_, db := servicetest.SQLite(t)
	whole := fstest.MapFS{}
	for _, name := range []string{"topics", "topic", "ensure_topic", "groups", "beat", "bury", "members", "leave", "position", "browse"} {
		whole["sql/"+name+".sql"] = &fstest.MapFile{Data: []byte("SELECT nothing FROM nowhere")}
	}
	part := fstest.MapFS{"sql/topics.sql": whole["sql/topics.sql"]}
	for name, p := range map[string]Parts{
		"a statement is missing": {Files: part},
		"no log":                 {Files: whole},
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
		assert.Truef(t, closed, "%s: what was opened stays open: %v", name, err)
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
			assert.ErrorIs(t, err, tc.err, "appending")
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
