package millracetest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/millracetest"
	"github.com/millrace-go/millrace/mysql"
	"github.com/millrace-go/millrace/postgres"
	"github.com/millrace-go/millrace/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type Placed struct{ ID, Customer string }

func (p Placed) Spec() millrace.Spec { return millrace.On("orders", "Placed", p.Customer) }

type Counted struct{ ID string }

func (c Counted) Spec() millrace.Spec { return millrace.On("counts", "Counted", c.ID) }

type app = millrace.App[*sql.Tx]

// each runs a test with an App on each database, with a table of effects.
func each(t *testing.T, run func(t *testing.T, a *app)) {
	for name, open := range map[string]func(t *testing.T) millrace.Database[*sql.Tx]{
		"sqlite": func(t *testing.T) millrace.Database[*sql.Tx] {
			servicetest.Embedded(t)
			return sqlite.Open("sqlite://" + filepath.Join(t.TempDir(), "app.db"))
		},
		"postgres": func(t *testing.T) millrace.Database[*sql.Tx] { return postgres.Open(servicetest.PostgresURL(t)) },
		"mariadb":  func(t *testing.T) millrace.Database[*sql.Tx] { return mysql.Open(servicetest.MariaDBURL(t)) },
		"mysql":    func(t *testing.T) millrace.Database[*sql.Tx] { return mysql.Open(servicetest.MySQLURL(t)) },
	} {
		t.Run(name, func(t *testing.T) { run(t, newApp(t, open(t))) })
	}
}

func newApp(t testing.TB, db millrace.Database[*sql.Tx]) *app {
	a, err := millrace.New(db, millrace.Config{Service: "shop"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	require.NoError(t, a.Do(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE effects (id VARCHAR(64))`)
		return err
	}))
	return a
}

func inMemory(t *testing.T) *app {
	return newApp(t, sqlite.Open("sqlite://"+filepath.Join(t.TempDir(), "app.db")))
}

func effect(ctx context.Context, tx *sql.Tx, id string) error {
	_, err := tx.ExecContext(ctx, fmt.Sprintf(`INSERT INTO effects VALUES ('%s')`, id))
	return err
}

// effects lists the rows that handlers have committed.
func effects(t *testing.T, a *app) string {
	var ids []string
	require.NoError(t, a.Do(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT id FROM effects ORDER BY id`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for ids = nil; rows.Next(); {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return rows.Err()
	}))
	return strings.Join(ids, " ")
}

func count(a *app, fails func(n int) error) {
	n := 0
	millrace.Handle(a, "counts", func(ctx context.Context, tx *sql.Tx, p Placed) error {
		n++
		err := errors.Join(effect(ctx, tx, p.ID), a.Emit(ctx, tx, Counted{p.ID}))
		if fails != nil {
			err = errors.Join(err, fails(n))
		}
		return err
	})
}

func TestEmitted(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		kit := millracetest.New(t, a)
		require.Error(t, a.Do(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			return errors.Join(a.Emit(ctx, tx, Placed{"o-0", "Ada"}), errors.New("no"))
		}))
		millracetest.RequireNotEmitted[Placed](kit)
		kit.Emit(Placed{"o-1", "Ada"}, Counted{"o-1"}, Placed{"o-2", "Ada"})
		require.Equal(t, []Placed{{"o-1", "Ada"}, {"o-2", "Ada"}}, millracetest.Emitted[Placed](kit))
		require.Equal(t, "o-2", millracetest.RequireEmitted(kit, func(p Placed) bool { return p.ID > "o-1" }).ID)
		millracetest.RequireNotEmitted(kit, func(p Placed) bool { return p.Customer == "Eve" })
	})
}

func TestDeliver(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		count(a, nil)
		var outside, batches []string
		millrace.HandleOutside(a, "mail", func(ctx context.Context, p Placed) error {
			outside = append(outside, p.ID+" from "+millrace.Meta(ctx).Source)
			return nil
		})
		millrace.HandleBatch(a, "tops", func(ctx context.Context, tx *sql.Tx, all []Counted) error {
			batches = append(batches, fmt.Sprint(all))
			return nil
		}, func(c *bus.BatchConsumer) { c.Size = 2 })
		kit := millracetest.New(t, a)
		kit.Emit(Placed{"o-1", "Ada"}, Placed{"o-2", "Bob"}, Placed{"o-3", "Ada"})
		require.Empty(t, effects(t, a))
		require.Empty(t, kit.Deliver())
		require.Equal(t, "o-1 o-2 o-3", effects(t, a))
		require.ElementsMatch(t, []string{"o-1 from shop", "o-2 from shop", "o-3 from shop"}, outside)
		require.Len(t, batches, 2)
		require.Empty(t, kit.Deliver())
		require.Len(t, outside, 3)
	})
}

func TestRedeliver(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		calls := 0
		count(a, func(n int) error { calls = n; return nil })
		kit := millracetest.New(t, a)
		kit.Emit(Placed{"o-1", "Ada"})
		require.Empty(t, kit.Deliver())
		for range 2 {
			require.Empty(t, kit.Redeliver())
		}
		require.Equal(t, 1, calls)
		require.Equal(t, "o-1", effects(t, a))
		require.Len(t, millracetest.Emitted[Counted](kit), 1)
	})
}

func TestCrash(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		calls := 0
		count(a, func(n int) error { calls = n; return nil })
		kit := millracetest.New(t, a)
		kit.Emit(Placed{"o-1", "Ada"})
		kit.CrashBeforeCommit("counts", 2)
		failures := kit.Deliver()
		require.Len(t, failures, 2)
		require.Contains(t, failures[0].String(), "group counts, Placed ")
		require.Equal(t, 3, calls)
		require.Equal(t, "o-1", effects(t, a))
		require.Len(t, millracetest.Emitted[Counted](kit), 1)
	})
}

func TestRetention(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		count(a, nil)
		kit := millracetest.New(t, a)
		kit.Emit(Placed{"o-1", "Ada"})
		kit.Deliver()
		const day = 24 * time.Hour
		kit.Advance(29 * day)
		kit.Redeliver()
		require.Equal(t, "o-1", effects(t, a))
		kit.Advance(2 * day)
		kit.Redeliver()
		require.Equal(t, "o-1 o-1", effects(t, a))
	})
}

// TestRetentionOfLeases: HandleOutside forgets an event as Handle does.
func TestRetentionOfLeases(t *testing.T) {
	a := inMemory(t)
	var calls []string
	millrace.HandleOutside(a, "mail", func(_ context.Context, p Placed) error { calls = append(calls, p.ID); return nil })
	kit := millracetest.New(t, a)
	kit.Emit(Placed{"o-1", "Ada"})
	kit.Deliver()
	const day = 24 * time.Hour
	kit.Advance(29 * day)
	kit.Redeliver()
	require.Equal(t, []string{"o-1"}, calls)
	kit.Advance(2 * day)
	kit.Redeliver()
	require.Equal(t, []string{"o-1", "o-1"}, calls)
}

func TestKeyWaits(t *testing.T) {
	a := inMemory(t)
	var calls []string
	millrace.Handle(a, "counts", func(_ context.Context, _ *sql.Tx, p Placed) error {
		if calls = append(calls, p.ID); len(calls) == 1 {
			return errors.New("not yet")
		}
		return nil
	})
	kit := millracetest.New(t, a)
	kit.Emit(Placed{"o-1", "Ada"}, Placed{"o-2", "Ada"}, Placed{"o-3", "Bob"})
	require.Len(t, kit.Deliver(), 1)
	require.Equal(t, []string{"o-1", "o-3"}, calls)
	require.Empty(t, kit.Advance(999*time.Millisecond))
	require.Equal(t, []string{"o-1", "o-3"}, calls)
	require.Empty(t, kit.Advance(time.Millisecond))
	require.Equal(t, []string{"o-1", "o-3", "o-1", "o-2"}, calls)
}

var (
	errTransient = errors.New("not yet")
	errPermanent = fault.MarkPermanent(errors.New("never"))
	errAbsent    = fault.MarkInfrastructure(errors.New("the server is absent"))
	errBusy      = fault.MarkBusy(errors.New("another has it"), 0)
	errPanic     = errors.New("panic")
)

// step scripts a handler: it returns the error of attempt n.
func step(script []error, n int) error {
	if n >= len(script) {
		return nil
	}
	if errors.Is(script[n], errPanic) {
		panic("oh")
	}
	return script[n]
}

// TestSameAsBus checks that a failed event is treated in the kit as in package bus: the same
// attempts at the same times, and the same end.
func TestSameAsBus(t *testing.T) {
	retry := bus.RetryPolicy{
		Backoff: bus.Backoff{Initial: time.Second, Max: 10 * time.Second, Multiplier: 2},
		Probe:   bus.Backoff{Initial: time.Second, Max: 30 * time.Second, Multiplier: 2},
	}
	for name, script := range map[string][]error{
		"transient, then well": {errTransient, errTransient},
		"transient for ever":   {errTransient, errTransient, errTransient, errTransient, errTransient},
		"permanent":            {errPermanent},
		"late permanent":       {errTransient, errPermanent},
		"panic":                {errPanic, errPanic, errPanic, errPanic, errPanic},
		"absent":               {errAbsent, errAbsent, errAbsent},
		"absent, then bad":     {errAbsent, errTransient, errPermanent},
		"busy":                 {errBusy, errBusy, errBusy, errBusy},
		"bad, busy, bad":       {errTransient, errBusy, errTransient, errTransient, errTransient},
	} {
		t.Run(name, func(t *testing.T) {
			var real, kits []time.Duration
			var realLetters int
			synctest.Test(t, func(t *testing.T) {
				b, err := bus.Open(t.Context(), "mem://", membus.Scheme())
				require.NoError(t, err)
				r, err := bus.NewRunner(b, bus.RunnerConfig{})
				require.NoError(t, err)
				start := time.Now()
				require.NoError(t, r.Add(bus.Consumer{
					Topic: "orders", Group: "counts", Retry: retry,
					Handler: func(*message.Message) error {
						real = append(real, time.Since(start))
						return step(script, len(real)-1)
					},
					Hooks: bus.Hooks{OnDeadLetter: func(bus.Report) { realLetters++ }},
				}))
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- r.Run(ctx) }()
				synctest.Wait()
				e, err := event.New("Placed", "shop", Placed{"o-1", "Ada"})
				require.NoError(t, err)
				m, err := event.Binary{}.Encode(e)
				require.NoError(t, err)
				start = time.Now()
				require.NoError(t, b.Publisher().Publish("orders", m))
				time.Sleep(time.Minute)
				cancel()
				require.NoError(t, <-ended)
				require.NoError(t, b.Close())
			})
			a := inMemory(t)
			now := time.Duration(0)
			millrace.Handle(a, "counts", func(context.Context, *sql.Tx, Placed) error {
				kits = append(kits, now)
				return step(script, len(kits)-1)
			}, func(c *bus.Consumer) { c.Retry = retry })
			kit := millracetest.New(t, a)
			kit.Emit(Placed{"o-1", "Ada"})
			kit.Deliver()
			for now = time.Second; now <= time.Minute; now += time.Second {
				kit.Advance(time.Second)
			}
			for i := range real {
				real[i] = real[i].Truncate(time.Second)
			}
			require.Equal(t, real, kits)
			require.Len(t, kit.DeadLetters(), realLetters)
			if realLetters == 1 {
				require.Equal(t, "orders.DLT", kit.DeadLetters()[0].DeadLetter)
			}
		})
	}
}

// said is a testing.TB that records the message of a failed test.
type said struct {
	testing.TB
	text string
}

func (s *said) Helper() {}
func (s *said) Fatalf(format string, a ...any) {
	s.text = fmt.Sprintf(format, a...)
	panic(s)
}

// failing returns the message with which fn fails its test.
func failing(t *testing.T, fn func(tb testing.TB)) (text string) {
	t.Helper()
	s := &said{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(s) {
			panic(p)
		}
		text = s.text
	}()
	fn(s)
	return ""
}

func TestRequireSays(t *testing.T) {
	a := inMemory(t)
	count(a, nil)
	millrace.HandleOutside(a, "mail", func(context.Context, Placed) error { return nil })
	tb := &said{TB: t}
	kit := millracetest.New(tb, a)
	says := func(want string, fn func()) {
		t.Helper()
		require.Contains(t, failing(t, func(testing.TB) {
			defer func() {
				if p := recover(); p != any(tb) {
					t.Errorf("it did not fail: %v", p)
				}
			}()
			fn()
		})+tb.text, want)
		tb.text = ""
	}
	says("no millracetest_test.Placed was committed; committed were: none", func() { millracetest.RequireEmitted[Placed](kit) })
	kit.Emit(Placed{"o-1", "Ada"})
	says("no millracetest_test.Placed that matches was committed; committed were:\n\torders Placed, key \"Ada\": {\"ID\":\"o-1\"", func() {
		millracetest.RequireEmitted(kit, func(p Placed) bool { return p.ID == "o-2" })
	})
	says("a millracetest_test.Placed was committed: {ID:o-1 Customer:Ada}", func() { millracetest.RequireNotEmitted[Placed](kit) })
	says(`no handler is registered for group "none"; there are "counts", "mail"`, func() { kit.CrashBeforeCommit("none", 1) })
	kit.CrashBeforeCommit("mail", 1)
	says(`group "mail" did not work in the transaction that was to be cut`, func() { kit.Deliver() })
}

func TestNewFails(t *testing.T) {
	a := inMemory(t)
	count(a, nil)
	count(a, nil)
	require.Contains(t, failing(t, func(tb testing.TB) { millracetest.New(tb, a) }), `group "counts" handles Placed of topic "orders" twice`)
	b := inMemory(t)
	millracetest.New(t, b)
	require.Contains(t, failing(t, func(tb testing.TB) { millracetest.New(tb, b) }), "an App runs once")
}

func TestCircle(t *testing.T) {
	a := inMemory(t)
	millrace.Handle(a, "counts", func(ctx context.Context, tx *sql.Tx, p Counted) error { return a.Emit(ctx, tx, p) })
	var kit *millracetest.Kit[*sql.Tx]
	require.Contains(t, failing(t, func(tb testing.TB) {
		kit = millracetest.New(tb, a)
		kit.Emit(Counted{"1"})
		kit.Deliver()
	}), "do handlers emit what they handle?")
}
