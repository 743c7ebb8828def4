package millrace_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/mysql"
	"github.com/millrace-go/millrace/postgres"
	"github.com/millrace-go/millrace/sqlite"
	"github.com/millrace-go/millrace/sqltx"
)

func TestNewDoesNotDial(t *testing.T) {
	for _, db := range []millrace.Database[*sql.Tx]{
		postgres.Open("postgres://u:p@127.0.0.1:1/x"), mysql.Open("mysql://u:p@127.0.0.1:1/x"),
	} {
		app, err := millrace.New(db, millrace.Config{Service: "shop", Bus: "mysql://u:p@127.0.0.1:1/x"}, mysqlbus.Scheme(mysqlbus.Config{}))
		require.NoError(t, err)
		check(t, app.Close())
	}
}

func TestNewRefuses(t *testing.T) {
	t.Setenv("MILLRACE_DB_URL", "")
	t.Setenv("MILLRACE_BUS_URL", "")
	_, pool := servicetest.SQLite(t)
	for want, open := range map[string]func() (*millrace.App[*sql.Tx], error){
		"the database is nil": func() (*millrace.App[*sql.Tx], error) {
			return millrace.New[*sql.Tx](nil, millrace.Config{Service: "shop"})
		},
		`Config.Service is empty; name the application`: func() (*millrace.App[*sql.Tx], error) {
			return millrace.New(sqlite.Open("x.db"), millrace.Config{})
		},
		"postgres: no URL was given to Open, and $MILLRACE_DB_URL is empty": func() (*millrace.App[*sql.Tx], error) {
			return millrace.New(postgres.Open(""), millrace.Config{Service: "shop"})
		},
		`sqlite: the URL's scheme is "postgres"; use sqlite://path`: func() (*millrace.App[*sql.Tx], error) {
			return millrace.New(sqlite.Open("postgres://app:geheim@db/shop"), millrace.Config{Service: "shop"})
		},
		"mysql: the pool is nil": func() (*millrace.App[*sql.Tx], error) {
			return millrace.New(mysql.SQL(nil), millrace.Config{Service: "shop"})
		},
		"Config.Bus is empty, and so is $MILLRACE_BUS_URL; a database that was opened elsewhere does not tell its URL, so name the transport, such as sqlite://…": func() (*millrace.App[*sql.Tx], error) {
			return millrace.New(sqlite.SQL(pool), millrace.Config{Service: "shop"})
		},
	} {
		if _, err := open(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	check(t, pool.Ping()) // the pool is still open
}

func TestEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	t.Setenv("MILLRACE_DB_URL", "sqlite://"+path)
	t.Setenv("MILLRACE_BUS_URL", "nowhere://x")
	app, err := millrace.New(sqlite.Open(""), millrace.Config{Service: "shop"})
	require.NoError(t, err)
	defer app.Close() //nolint:errcheck // nothing was written
	check(t, app.Migrate(t.Context()))
	_, err = os.Stat(path)
	assert.NoError(t, err)
	if err := app.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `unknown scheme "nowhere"; known are: sqlite`) {
		t.Errorf("Run returns %v", err)
	}
}

// The outbox is in the file of the transport, which reads the URL as the operator's tool does.
func TestSQLiteFile(t *testing.T) {
	t.Setenv("MILLRACE_BUS_URL", "")
	for given, file := range map[string]string{
		"sqlite://URL/app.db?synchronous=normal": "app.db", "sqlite://URL/a%20b.db": "a b.db", "URL/a%20b?#c.db": "a%20b?#c.db",
	} {
		folder := t.TempDir()
		app, err := millrace.New(sqlite.Open(strings.Replace(given, "URL", folder, 1)), millrace.Config{Service: "shop"})
		require.NoError(t, err)
		check(t, app.Migrate(t.Context()))
		ctx, stop := context.WithCancel(t.Context())
		millrace.Handle(app, "stop", func(context.Context, *sql.Tx, Placed) error { stop(); return nil })
		check(t, app.Do(ctx, func(ctx context.Context, tx *sql.Tx) error { return app.Emit(ctx, tx, Placed{}) }))
		check(t, app.Run(ctx))
		check(t, app.Close())
		files, err := filepath.Glob(folder + "/*")
		check(t, err)
		assert.Equal(t, []string{filepath.Join(folder, file)}, files, given)
	}
}

type nameless struct{}

func (nameless) Spec() millrace.Spec { return millrace.Spec{Topic: "orders"} }

type homeless struct{}

func (homeless) Spec() millrace.Spec { return millrace.Spec{Type: "Homeless"} }

type pointed struct{ topic string }

func (p *pointed) Spec() millrace.Spec { return millrace.On(p.topic, "Pointed", "") }

func TestRunRefusesBadRegistrations(t *testing.T) {
	servicetest.Embedded(t)
	app, err := millrace.New(sqlite.Open(filepath.Join(t.TempDir(), "app.db")), millrace.Config{Service: "shop"})
	require.NoError(t, err)
	defer app.Close() //nolint:errcheck // nothing was written
	none := func(context.Context, *sql.Tx, Placed) error { return nil }
	millrace.Handle(app, "totals", none)
	millrace.Handle(app, "totals", none)
	millrace.Handle(app, "", none)
	millrace.Handle(app, "a:b", none)
	millrace.Handle[*sql.Tx, Placed](app, "nil", nil)
	millrace.Handle(app, "nameless", func(context.Context, *sql.Tx, nameless) error { return nil })
	millrace.HandleOutside(app, "homeless", func(context.Context, homeless) error { return nil })
	millrace.Handle(app, "pointed", func(context.Context, *sql.Tx, *pointed) error { return nil })
	millrace.Handle(app, "any", func(context.Context, *sql.Tx, millrace.Event) error { return nil })
	millrace.HandleBatch(app, "totals", func(context.Context, *sql.Tx, []Placed) error { return nil })
	millrace.HandleBatch(app, "views", func(context.Context, *sql.Tx, []Placed) error { return nil })
	millrace.Handle(app, "views", none)
	err = app.Run(t.Context())
	require.Error(t, err, "Run returns nothing")
	for _, want := range []string{
		`group "totals" handles Placed of topic "orders" twice`,
		"Group is empty",
		`"a:b"`,
		"the handler of millrace_test.Placed is nil",
		"millrace_test.nameless.Spec: Type is empty",
		"millrace_test.homeless.Spec: Topic is empty",
		"*millrace_test.pointed.Spec fails on the zero value",
		"the handler's event is an interface",
		`group "totals" handles topic "orders" already`,
		`group "views" handles topic "orders" in batches`,
	} {
		assert.Containsf(t, err.Error(), want, "Run does not say %q:\n%v", want, err)
	}
}

func TestEmitRefuses(t *testing.T) {
	each(t, func(k *kit) {
		for want, events := range map[string][]millrace.Event{
			"event 1 is nil":                {Placed{}, nil},
			"nameless.Spec: Type is empty":  {Placed{}, nameless{}},
			"homeless.Spec: Topic is empty": {homeless{}},
		} {
			err := k.app.Do(k.Context(), func(ctx context.Context, tx *sql.Tx) error { return k.app.Emit(ctx, tx, events...) })
			if err == nil || !strings.Contains(err.Error(), want) {
				k.Errorf("got %v, want %q", err, want)
			}
		}
		if err := k.app.Emit(k.Context(), nil, Placed{}); !errors.Is(err, sqltx.ErrNoTransaction) {
			k.Errorf("without a transaction: %v", err)
		}
	})
}

// mail is an event of any topic, key and size.
type mail struct{ topic, key, Text string }

func (m mail) Spec() millrace.Spec { return millrace.On(cmp.Or(m.topic, "mails"), "Mail", m.key) }

// TestAnInvalidEventTakesTheOthersWithIt commits a transaction in spite of the error of Emit:
// no event of that call is published, of whatever topic.
func TestAnInvalidEventTakesTheOthersWithIt(t *testing.T) {
	each(t, func(k *kit) {
		var placed atomic.Int32
		millrace.Handle(k.app, "totals", func(context.Context, *sql.Tx, Placed) error { placed.Add(1); return nil })
		end := last(k, "totals")
		for want, events := range map[string][]millrace.Event{
			"event 1 (Mail): ":             {Placed{"o-1", 1}, mail{key: "two\nlines"}},
			"event 2 (Mail): ":             {Placed{"o-1", 1}, mail{}, mail{topic: "orders", key: "two\nlines"}},
			"larger than the codec allows": {Placed{"o-1", 1}, mail{Text: strings.Repeat("x", 1<<20)}},
		} {
			check(k, k.app.Do(k.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if err := k.app.Emit(ctx, tx, events...); err == nil || !strings.Contains(err.Error(), want) {
					k.Errorf("Emit returns %v, want %q", err, want)
				}
				return nil
			}))
		}
		k.emit(Paid{"o-1"})
		stop := k.run()
		wait(k, "the last event", end)
		stop()
		if n := placed.Load(); n != 0 {
			k.Errorf("%d events of the refused call were published", n)
		}
	})
}

func TestALateHandlerIsLogged(t *testing.T) {
	servicetest.Embedded(t)
	lines := make(lineWriter, 100)
	app, err := millrace.New(sqlite.Open(filepath.Join(t.TempDir(), "app.db")), millrace.Config{
		Service: "shop", Logger: slog.New(slog.NewTextHandler(lines, nil)),
	})
	require.NoError(t, err)
	defer func() { check(t, app.Close()) }()
	if _, err := app.Parts(); err != nil { // stands for Run
		t.Fatal(err)
	}
	millrace.Handle(app, "totals", func(context.Context, *sql.Tx, Placed) error { return nil })
	select {
	case line := <-lines:
		if !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "registered after Run had begun") {
			t.Error(line)
		}
	default:
		t.Error("nothing is logged")
	}
}

// TestRunIsStoppedWhileItStarts: a signal that comes before the transport is open is no failure.
func TestRunIsStoppedWhileItStarts(t *testing.T) {
	servicetest.Embedded(t)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for _, ctx := range []context.Context{canceled, late} {
		app, err := millrace.New(sqlite.Open(filepath.Join(t.TempDir(), "app.db")), millrace.Config{Service: "shop"})
		require.NoError(t, err)
		if err := app.Run(ctx); err != nil {
			t.Errorf("%v: Run returns %v", ctx.Err(), err)
		}
		check(t, app.Close())
	}
}

// TestAFailureBesideACancellationIsReturned: a part fails, and the end of its own work adds a
// context's error.
func TestAFailureBesideACancellationIsReturned(t *testing.T) {
	broken := errors.New("broken")
	err := millrace.Together(t.Context(),
		func(context.Context) error { return errors.Join(broken, context.Canceled) },
		func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	)
	assert.ErrorIs(t, err, broken, "Run would return")
}

// TestMissingTables runs an App before its tables exist.
func TestMissingTables(t *testing.T) {
	servicetest.Embedded(t)
	lines := make(lineWriter, 100)
	app, err := millrace.New(sqlite.Open(filepath.Join(t.TempDir(), "app.db")), millrace.Config{
		Service: "shop", Logger: slog.New(slog.NewTextHandler(lines, nil)),
	})
	require.NoError(t, err)
	defer func() { check(t, app.Close()) }()
	k := &kit{t, app, nil}
	got := make(chan string, 1)
	millrace.Handle(app, "totals", func(_ context.Context, _ *sql.Tx, p Placed) error { got <- p.ID; return nil })
	stop := k.run()
	for !strings.Contains(wait[string](k, "a line that names Migrate", lines), "call its store's Migrate") {
	}
	check(t, app.Migrate(t.Context()))
	k.emit(Placed{"o-1", 1})
	wait(k, "the event", got)
	stop()
}

// lineWriter passes on log lines; it drops lines that the test does not read.
type lineWriter chan string

func (w lineWriter) Write(line []byte) (int, error) {
	select {
	case w <- string(line):
	default:
	}
	return len(line), nil
}
