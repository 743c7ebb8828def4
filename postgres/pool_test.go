package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/postgres"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type Placed struct{ ID string }

func (Placed) Spec() millrace.Spec { return millrace.On("orders", "Placed", "c-1") }

type Paid struct{ ID string }

func (Paid) Spec() millrace.Spec { return millrace.On("orders", "Paid", "c-1") }

type Counted struct{ ID string }

func (Counted) Spec() millrace.Spec { return millrace.On("counts", "Counted", "c-1") }

// opened returns an App on a pgxpool; its relay looks for events only when it is woken.
func opened(t *testing.T) (*millrace.App[pgx.Tx], *pgxpool.Pool) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), servicetest.PostgresURL(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	app, err := millrace.New(postgres.Pool(pool), millrace.Config{Service: "shop", Relay: outbox.RelayConfig{Interval: time.Hour}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, app.Close()) })
	require.NoError(t, app.Migrate(t.Context()))
	_, err = pool.Exec(t.Context(), `CREATE TABLE effects (id TEXT)`)
	require.NoError(t, err)
	return app, pool
}

func effect(ctx context.Context, tx pgx.Tx, id string) error {
	_, err := tx.Exec(ctx, `INSERT INTO effects VALUES ($1)`, id)
	return err
}

// effects lists the rows that handlers have committed, in the order of their ids.
func effects(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `SELECT id FROM effects ORDER BY id`)
	require.NoError(t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(ids, " ")
}

func emit(ctx context.Context, app *millrace.App[pgx.Tx], outcome error, events ...millrace.Event) error {
	return app.Do(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return errors.Join(app.Emit(ctx, tx, events...), outcome)
	})
}

// running runs the App until its test ends.
func running(t *testing.T, app *millrace.App[pgx.Tx]) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	return func() { cancel(); require.NoError(t, <-ended) }
}

func await(t *testing.T, c <-chan string, want string) {
	t.Helper()
	select {
	case got := <-c:
		require.Equal(t, want, got)
	case <-time.After(time.Minute):
		t.Fatalf("%s did not come", want)
	}
}

// TestPool checks that a committed event is handled once, with pgx, in one transaction with the
// rows and events of the handler, and that a rolled-back event is not handled. Each event is
// published at once, since the commit wakes the relay.
func TestPool(t *testing.T) {
	app, pool := opened(t)
	again := func(c *bus.Consumer) { c.Retry = bus.FixedRetry(time.Millisecond, 5) }
	var calls atomic.Int32
	seen := make(chan string, 10)
	millrace.Handle(app, "totals", func(ctx context.Context, tx pgx.Tx, p Placed) error {
		err := errors.Join(effect(ctx, tx, p.ID), app.Emit(ctx, tx, Paid(p)))
		if calls.Add(1) == 1 {
			return errors.Join(err, errors.New("not yet"))
		}
		return err
	}, again)
	millrace.Handle(app, "mail", func(ctx context.Context, tx pgx.Tx, p Paid) error {
		seen <- "paid " + p.ID
		return effect(ctx, tx, "paid "+p.ID)
	})
	millrace.HandleOutside(app, "outside", func(_ context.Context, p Paid) error { seen <- "outside " + p.ID; return nil })
	no := errors.New("no")
	require.ErrorIs(t, emit(t.Context(), app, no, Placed{"o-0"}), no)
	stop := running(t, app)
	require.NoError(t, emit(t.Context(), app, nil, Placed{"o-1"}))
	got := map[string]bool{}
	for range 2 {
		select {
		case s := <-seen:
			got[s] = true
		case <-time.After(time.Minute):
			t.Fatalf("handled are %v", got)
		}
	}
	require.Equal(t, map[string]bool{"paid o-1": true, "outside o-1": true}, got)
	require.NoError(t, app.Ready(t.Context()))
	stop()
	require.Equal(t, "o-1 paid o-1", effects(t, pool))
	require.Empty(t, seen)
	require.Zero(t, pool.Stat().AcquiredConns(), "connections that did not come back")
}

func TestPoolInBatches(t *testing.T) {
	app, pool := opened(t)
	done := make(chan string, 10)
	millrace.HandleBatch(app, "counts", func(ctx context.Context, tx pgx.Tx, all []Counted) error {
		for _, c := range all {
			if err := effect(ctx, tx, c.ID); err != nil {
				return err
			}
		}
		done <- all[len(all)-1].ID
		return nil
	}, func(c *bus.BatchConsumer) { c.Size, c.Wait = 3, time.Minute })
	stop := running(t, app)
	require.NoError(t, emit(t.Context(), app, nil, Counted{"a"}, Counted{"b"}, Counted{"c"}))
	await(t, done, "c")
	stop()
	require.Equal(t, "a b c", effects(t, pool))
}

func TestPoolRefuses(t *testing.T) {
	_, err := millrace.New(postgres.Pool(nil), millrace.Config{Service: "shop"})
	require.ErrorContains(t, err, "postgres: the pool is nil")
	pool, err := pgxpool.New(t.Context(), "host=127.0.0.1 port=1 user=app")
	require.NoError(t, err)
	defer pool.Close()
	_, err = millrace.New(postgres.Pool(pool), millrace.Config{Service: "shop"})
	require.ErrorContains(t, err, "Config.Bus is empty")
}

// TestPoolOfAnotherDatabaseThanItsURL checks that the transport is not the log of a database that
// the pool's URL names, but that its configuration has replaced.
func TestPoolOfAnotherDatabaseThanItsURL(t *testing.T) {
	for name, change := range map[string]func(c *pgxpool.Config){
		"host":     func(c *pgxpool.Config) { c.ConnConfig.Host = "127.0.0.2" },
		"port":     func(c *pgxpool.Config) { c.ConnConfig.Port = 2 },
		"database": func(c *pgxpool.Config) { c.ConnConfig.Database = "other" },
		"user":     func(c *pgxpool.Config) { c.ConnConfig.User = "other" },
		"schema":   func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = "other" },
	} {
		cfg, err := pgxpool.ParseConfig("postgres://app@127.0.0.1:1/app?pool_max_conns=2")
		require.NoError(t, err)
		change(cfg)
		pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
		require.NoError(t, err)
		_, err = millrace.New(postgres.Pool(pool), millrace.Config{Service: "shop"})
		require.ErrorContains(t, err, "Config.Bus is empty", name)
		pool.Close()
	}
}

// TestPoolOfAURLWithItsOwnParameters checks that the transport takes the pool's URL without the
// parameters that only a pgxpool reads: a server refuses them.
func TestPoolOfAURLWithItsOwnParameters(t *testing.T) {
	url := servicetest.PostgresURL(t)
	sign := "?"
	if strings.Contains(url, "?") {
		sign = "&"
	}
	pool, err := pgxpool.New(t.Context(), url+sign+"pool_max_conns=8&pool_max_conn_lifetime=1h")
	require.NoError(t, err)
	defer pool.Close()
	app, err := millrace.New(postgres.Pool(pool), millrace.Config{Service: "shop"})
	require.NoError(t, err)
	defer func() { require.NoError(t, app.Close()) }()
	require.NoError(t, app.Migrate(t.Context()))
	done := make(chan string, 1)
	millrace.HandleOutside(app, "totals", func(_ context.Context, p Placed) error { done <- p.ID; return nil })
	stop := running(t, app)
	require.NoError(t, emit(t.Context(), app, nil, Placed{"o-1"}))
	await(t, done, "o-1")
	stop()
}
