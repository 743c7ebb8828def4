package boxtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// Main runs the tests of a package, as [goleak.VerifyTestMain] does. Tests on MySQL and
// MariaDB reuse databases: making the tables takes a server one to three seconds,
// emptying them a tenth of one. Automatic numbers continue from one test to the next.
// Main drops these databases at the end.
func Main(m *testing.M, options ...goleak.Option) {
	emptied.keep = true
	goleak.VerifyTestMain(m, append(options, goleak.Cleanup(func(code int) {
		if err := emptied.drop(); err != nil {
			fmt.Fprintln(os.Stderr, "boxtest:", err)
			code = max(code, 1)
		}
		os.Exit(code)
	}))...)
}

var emptied emptiedDatabases

// emptiedDatabases are databases of finished tests, in the state of the box office's
// first start.
type emptiedDatabases struct {
	keep bool // Main is there to drop them

	mu     sync.Mutex
	model  *model
	free   []string
	drops  []func() error
	broken error
}

// url is the URL of a database for one test.
func (e *emptiedDatabases) url(t testing.TB, name string) string {
	t.Helper()
	servers := servicetest.MySQLServers()
	server := servers[slices.IndexFunc(servers, func(s servicetest.MySQLServer) bool { return s.Name == name })]
	if !e.keep {
		return server.URL(t)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	made := func() (string, error) {
		at, drop := server.Kept(t)
		e.drops = append(e.drops, drop)
		s, err := store.Open(t.Context(), at)
		if err != nil {
			return "", err
		}
		return at, s.Close()
	}
	var at string
	err := e.broken
	if err == nil && e.model == nil {
		if at, err = made(); err == nil {
			e.model, err = newModel(t.Context(), at)
		}
		e.broken = err
	}
	if err == nil && len(e.free) == 0 {
		at, err = made()
	} else if err == nil {
		at, e.free = e.free[len(e.free)-1], e.free[:len(e.free)-1]
	}
	if err != nil {
		t.Fatal(err)
	}
	model := e.model
	t.Cleanup(func() {
		// A database that could not be restored, or that the test has left locked, is not used
		// again.
		if err := model.restore(context.WithoutCancel(t.Context()), at); err != nil {
			t.Logf("%s is not used again: %v", server.Name, err)
			return
		}
		e.mu.Lock()
		e.free = append(e.free, at)
		e.mu.Unlock()
	})
	return at
}

func (e *emptiedDatabases) drop() error {
	var errs []error
	for _, drop := range e.drops {
		errs = append(errs, drop())
	}
	return errors.Join(errs...)
}

// model is a database that no test uses: the rows of the first start, by table.
type model struct {
	name   string
	tables []string            // that every database has; parts add theirs
	seeded map[string][]string // the columns of those that are not empty
}

func newModel(ctx context.Context, at string) (*model, error) {
	db, err := mysqldb.Open(at)
	if err != nil {
		return nil, err
	}
	defer db.Close() //nolint:errcheck // a test's side connection
	m := &model{name: nameOf(at), seeded: map[string][]string{}}
	if m.tables, err = store.Column(ctx, db, tablesOf, m.name); err != nil {
		return nil, err
	}
	for _, table := range m.tables {
		var seeded bool
		if err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM `"+table+"`)").Scan(&seeded); err != nil {
			return nil, err
		}
		if !seeded {
			continue
		}
		if m.seeded[table], err = store.Column(ctx, db, `SELECT column_name FROM information_schema.columns
			WHERE table_schema = ? AND table_name = ? AND coalesce(generation_expression, '') = ''`, m.name, table); err != nil {
			return nil, err
		}
	}
	return m, nil
}

const tablesOf = `SELECT table_name FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name`

func nameOf(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		panic(err) // servicetest has made it
	}
	return strings.TrimPrefix(u.Path, "/")
}

// restore makes a database as the model is.
func (m *model) restore(ctx context.Context, at string) error {
	db, err := mysqldb.Open(at)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // a test's side connection
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // with the pool
	name := nameOf(at)
	tables, err := store.Column(ctx, conn, tablesOf, name)
	if err != nil {
		return err
	}
	for _, table := range m.tables {
		if !slices.Contains(tables, table) {
			return fmt.Errorf("the test has taken the table %s away", table)
		}
	}
	for _, set := range []string{"foreign_key_checks = 0", "lock_wait_timeout = 5", "innodb_lock_wait_timeout = 5"} {
		if _, err := conn.ExecContext(ctx, "SET SESSION "+set); err != nil {
			return err
		}
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after the commit it does nothing
	for _, table := range tables {
		if strings.HasPrefix(table, "millrace_") && strings.HasSuffix(table, "_version") {
			continue // the tables stay
		}
		if err := m.restoreTable(ctx, tx, name, table); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (m *model) restoreTable(ctx context.Context, tx *sql.Tx, name, table string) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM `"+name+"`.`"+table+"`"); err != nil {
		return err
	}
	columns, seeded := m.seeded[table]
	if !seeded {
		return nil
	}
	list := "`" + strings.Join(columns, "`, `") + "`"
	_, err := tx.ExecContext(ctx, "INSERT INTO `"+name+"`.`"+table+"` ("+list+") SELECT "+list+" FROM `"+m.name+"`.`"+table+"`")
	return err
}
