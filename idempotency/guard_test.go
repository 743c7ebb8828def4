package idempotency_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/intx"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errHandler = errors.New("the handler failed")

func newEvent(t testing.TB) event.Event {
	t.Helper()
	e, err := event.New("PaymentSuccess", "test", map[string]int{"amount": 5000})
	require.NoError(t, err)
	e.AggregateType, e.AggregateID = "payment", "p-1"
	return e
}

// database returns a migrated SQLite store and a table of sales.
func database(t testing.TB) (driver.SQLStore[*sql.Tx], *sql.DB) {
	t.Helper()
	_, db := servicetest.SQLite(t)
	store, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: sqltx.SQLite})
	require.NoError(t, err)
	require.NoError(t, store.Migrate(context.Background()))
	_, err = db.Exec(`CREATE TABLE sales (n INTEGER)`)
	require.NoError(t, err)
	return store, db
}

func sell(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO sales VALUES (1)`)
	return err
}

// sellIn is sell for the function of a store, whose context carries the transaction.
func sellIn(ctx context.Context) error {
	tx, ok := intx.From(ctx)
	if !ok {
		return errors.New("no transaction in the context")
	}
	return sell(ctx, tx)
}

func sales(t testing.TB, db *sql.DB) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRow(`SELECT count(*) FROM sales`).Scan(&n))
	return n
}

func TestNewChecks(t *testing.T) {
	store := memidempotency.New()
	for name, tc := range map[string]struct {
		store driver.Store
		cfg   idempotency.Config
		want  string
	}{
		"no store":       {nil, idempotency.Config{Group: "g"}, "store"},
		"no group":       {store, idempotency.Config{}, "Config.Group"},
		"colon in group": {store, idempotency.Config{Group: "a:b"}, "Config.Group"},
	} {
		if _, err := idempotency.New[idempotency.NoTx](tc.store, tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: New = %v, want an error about %s", name, err, tc.want)
		}
	}
}

func TestGuardDo(t *testing.T) {
	store, db := database(t)
	var duplicates []string
	guards := map[string]*idempotency.Guard[*sql.Tx]{}
	for _, group := range []string{"stats", "tickets"} {
		g, err := idempotency.New[*sql.Tx](store, idempotency.Config{Group: group, OnDuplicate: func(_ context.Context, e event.Event) {
			duplicates = append(duplicates, group+" "+e.ID)
		}})
		require.NoError(t, err)
		guards[group] = g
	}
	e := newEvent(t)
	for i, step := range []struct {
		group string
		err   error
		fresh bool
		sales int
	}{
		{"stats", errHandler, false, 0},
		{"stats", nil, true, 1},
		{"stats", nil, false, 1},
		{"tickets", nil, true, 2},
		{"stats", errHandler, false, 2}, // the handler does not run for a duplicate
	} {
		fresh, err := guards[step.group].Do(t.Context(), e, func(ctx context.Context, tx *sql.Tx) error {
			got, ok := event.FromContext(ctx)
			if !ok || got.ID != e.ID || string(got.Data) != string(e.Data) {
				t.Errorf("the context holds %v, %v", got, ok)
			}
			return errors.Join(sell(ctx, tx), step.err)
		})
		failing := step.err != nil && i == 0
		if fresh != step.fresh || failing != errors.Is(err, errHandler) || !failing && err != nil || sales(t, db) != step.sales {
			t.Errorf("step %d: fresh %v, %v, %d sales; want %+v", i, fresh, err, sales(t, db), step)
		}
	}
	if want := "stats " + e.ID; strings.Join(duplicates, ",") != want+","+want {
		t.Errorf("duplicates reported: %q, want %q twice", duplicates, want)
	}
	var key, group, typ, aggregate string
	err := db.QueryRow(`SELECT idempotency_key, consumer_group, event_type, aggregate_id FROM event_handled WHERE consumer_group = 'stats'`).
		Scan(&key, &group, &typ, &aggregate)
	if err != nil || key != "stats:"+e.ID || typ != "PaymentSuccess" || aggregate != "p-1" {
		t.Errorf("the row is %q %q %q %q, %v", key, group, typ, aggregate, err)
	}
}

type keyFunc = func(group string, e event.Event) (string, error)

func TestKeys(t *testing.T) {
	action := func(a string) keyFunc {
		return idempotency.ByAggregate(func(event.Event) string { return a })
	}
	full := event.Event{ID: "e1", Type: "T", AggregateType: "payment", AggregateID: "a:b"}
	without := func(change func(*event.Event)) event.Event { e := full; change(&e); return e }
	for _, tc := range []struct {
		name      string
		key       keyFunc
		e         event.Event
		want, err string
	}{
		{"by event", idempotency.ByEvent, full, "g:e1", ""},
		{"by event, no id", idempotency.ByEvent, without(func(e *event.Event) { e.ID = "" }), "", "no id"},
		{"by aggregate", action("refund"), full, "g:payment:a:b:refund", ""},
		{"no aggregate type", action("refund"), without(func(e *event.Event) { e.AggregateType = "" }), "", "aggregate type"},
		{"no aggregate id", action("refund"), without(func(e *event.Event) { e.AggregateID = "" }), "", "aggregate id"},
		{"no action", action(""), full, "", "action"},
		{"colon in the action", action("re:fund"), full, "", "action"},
		{"colon in the aggregate type", action("refund"), without(func(e *event.Event) { e.AggregateType = "a:b" }), "", "aggregate type"},
	} {
		got, err := tc.key("g", tc.e)
		if got != tc.want || (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %q, %v; want %q, error about %q", tc.name, got, err, tc.want, tc.err)
		}
	}
}

func TestBadKeyIsPermanent(t *testing.T) {
	for name, key := range map[string]keyFunc{
		"error": func(string, event.Event) (string, error) { return "", errHandler },
		"empty": func(string, event.Event) (string, error) { return "", nil },
	} {
		g, err := idempotency.New[idempotency.NoTx](memidempotency.New(), idempotency.Config{Group: "g", Key: key})
		require.NoError(t, err)
		fresh, err := g.Do(t.Context(), newEvent(t), func(context.Context, idempotency.NoTx) error {
			t.Errorf("%s: the handler ran", name)
			return nil
		})
		want := map[string]error{"error": errHandler, "empty": driver.ErrEmptyKey}[name]
		if fresh || !errors.Is(err, want) || fault.Of(err) != fault.Permanent {
			t.Errorf("%s: Do = %v, %v (%v); want a permanent %v", name, fresh, err, fault.Of(err), want)
		}
	}
}
