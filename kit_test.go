package millrace_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/mysql"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/postgres"
	"github.com/millrace-go/millrace/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon bounds the waits of tests; they end long before.
const soon = time.Minute

type Placed struct {
	ID    string
	Cents int64
}

func (Placed) Spec() millrace.Spec {
	return millrace.Spec{Topic: "orders", Type: "Placed", Key: "c-1", Aggregate: "order"}
}

type Paid struct{ ID string }

func (p Paid) Spec() millrace.Spec { return millrace.On("orders", "Paid", "c-1") }

// kit is an App on a database of its own.
type kit struct {
	*testing.T
	app *millrace.App[*sql.Tx]
	db  *sql.DB // the same database, for assertions
}

// each runs a test on each database.
func each(t *testing.T, run func(k *kit)) {
	for name, open := range map[string]func(t *testing.T) (millrace.Database[*sql.Tx], *sql.DB, error){
		"sqlite": func(t *testing.T) (millrace.Database[*sql.Tx], *sql.DB, error) {
			servicetest.Embedded(t)
			path := filepath.Join(t.TempDir(), "app.db")
			db, err := sqliteoutbox.Open(path)
			return sqlite.Open("sqlite://" + path), db, err
		},
		"postgres": func(t *testing.T) (millrace.Database[*sql.Tx], *sql.DB, error) {
			url := servicetest.PostgresURL(t)
			db, err := pgdb.Open(url)
			return postgres.Open(url), db, err
		},
		"mariadb": func(t *testing.T) (millrace.Database[*sql.Tx], *sql.DB, error) {
			url := servicetest.MariaDBURL(t)
			db, err := mysqldb.Open(url)
			return mysql.Open(url), db, err
		},
		"mysql": func(t *testing.T) (millrace.Database[*sql.Tx], *sql.DB, error) {
			url := servicetest.MySQLURL(t)
			db, err := mysqldb.Open(url)
			return mysql.Open(url), db, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database, db, err := open(t)
			require.NoError(t, err)
			t.Cleanup(func() { check(t, db.Close()) })
			app, err := millrace.New(database, millrace.Config{Service: "shop"})
			require.NoError(t, err)
			t.Cleanup(func() { check(t, app.Close()) })
			check(t, app.Migrate(t.Context()))
			_, err = db.Exec(`CREATE TABLE effects (id VARCHAR(64))`)
			require.NoError(t, err)
			run(&kit{t, app, db})
		})
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	assert.NoError(t, err)
}

// run runs the App until the test calls stop, which waits for the end of Run.
func (k *kit) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- k.app.Run(ctx) }()
	return func() {
		k.Helper()
		cancel()
		check(k, <-done)
	}
}

// emit commits events in one transaction.
func (k *kit) emit(events ...millrace.Event) {
	k.Helper()
	check(k, k.app.Do(k.Context(), func(ctx context.Context, tx *sql.Tx) error { return k.app.Emit(ctx, tx, events...) }))
}

// deliver commits the same event several times.
func (k *kit) deliver(e event.Event, times int) {
	k.Helper()
	check(k, k.app.Do(k.Context(), func(ctx context.Context, tx *sql.Tx) error {
		for range times {
			if err := k.app.Box().AppendTo(ctx, tx, "orders", e); err != nil {
				return err
			}
		}
		return nil
	}))
}

// effects counts the rows that handlers have committed.
func (k *kit) effects() (n int) {
	k.Helper()
	check(k, k.db.QueryRow(`SELECT COUNT(*) FROM effects`).Scan(&n))
	return n
}

// effect writes a handler's row.
func effect(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO effects VALUES ('x')`)
	return err
}

// wait waits for a signal.
func wait[T any](k *kit, what string, c <-chan T) T {
	k.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(soon):
		k.Fatalf("%s: not within %s", what, soon)
		panic("unreachable")
	}
}
