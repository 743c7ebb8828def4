package faulttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/pglog"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

// A position that was read and not yet kept may name transactions as done that a
// crash undoes, whose ids PostgreSQL then gives to others. Its holder has to begin
// again from the kept position, though no statement failed.
func TestPositionsEndWithTheServer(t *testing.T) {
	holders := map[string]holder{"log": holdLog(t), "status": holdStatus(t)}
	for name, h := range holders {
		for what, do := range h.keep {
			require.NoErrorf(t, do(t.Context()), "%s: %s", name, what)
		}
	}
	restart(t, "postgres", hostOf(t, servicetest.PostgresURL(t)))
	for name, h := range holders {
		for what, do := range h.keep {
			assert.ErrorIsf(t, answered(t.Context(), do), h.lost, "%s: a lease from before the crash is %s", name, what)
		}
		require.NoErrorf(t, h.again(t.Context()), "%s: lease", name)
		for what, do := range h.keep {
			assert.NoErrorf(t, do(t.Context()), "%s: a lease from after the crash is not %s", name, what)
		}
	}
}

// holder has a lease, and the calls that it may make under the lease.
type holder struct {
	again func(context.Context) error // takes the lease
	keep  map[string]func(context.Context) error
	lost  error
}

func holdLog(t *testing.T) holder {
	db := servicetest.Postgres(t)
	l, err := pglog.New(db, sqllog.Tables{Package: "faulttest", Messages: "log_messages", Cursors: "log_cursors"})
	require.NoError(t, err)
	schema, err := l.Migrations()
	require.NoError(t, err)
	require.NoError(t, schema.Up(t.Context(), db))
	var lease log.Lease
	h := holder{lost: log.ErrLeaseLost, again: func(ctx context.Context) (err error) {
		lease, err = l.Lease(ctx, log.Cursor{Consumer: "c"}, "me", time.Hour)
		return err
	}}
	h.keep = map[string]func(context.Context) error{
		"advanced": func(ctx context.Context) error { return l.Advance(ctx, lease, lease.Position, time.Hour) },
		"renewed":  func(ctx context.Context) error { return l.Renew(ctx, time.Hour, lease) },
	}
	require.NoError(t, h.again(t.Context()))
	return h
}

func holdStatus(t *testing.T) holder {
	store, err := pgoutbox.New(servicetest.Postgres(t), pgoutbox.Config{Status: true})
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	var lease driver.Lease
	settle := func(items ...*driver.Item) func(context.Context) error {
		return func(ctx context.Context) error {
			return store.Settle(ctx, lease, driver.Settlement{TTL: time.Hour, Published: items})
		}
	}
	h := holder{lost: driver.ErrLeaseLost, again: func(ctx context.Context) (err error) {
		lease, err = store.Lease(ctx, 0, "me", time.Hour)
		return err
	}}
	event := func(seq int64) *driver.Item { return &driver.Item{ID: seq, MessageID: uuid.NewString()} }
	h.keep = map[string]func(context.Context) error{
		"renewed": settle(), "settled in a row": settle(event(1)), "settled": settle(event(1), event(9)),
	}
	require.NoError(t, h.again(t.Context()))
	return h
}

// answered repeats do until a connection of the pool answers that is not dead.
func answered(ctx context.Context, do func(context.Context) error) error {
	err := do(ctx)
	for range 10 {
		if err == nil || errors.Is(err, log.ErrLeaseLost) || errors.Is(err, driver.ErrLeaseLost) {
			break
		}
		err = do(ctx)
	}
	return err
}
