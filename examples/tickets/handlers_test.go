package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/millracetest"
	"github.com/millrace-go/millrace/postgres"
	"github.com/millrace-go/millrace/sqlite"
)

func openShop(t *testing.T, database millrace.Database[*sql.Tx]) *shop {
	t.Helper()
	app, err := millrace.New(database, millrace.Config{Service: "tickets"})
	require.NoError(t, err)
	t.Cleanup(func() { app.Close() })
	provider, err := openProvider(filepath.Join(t.TempDir(), "charges"))
	require.NoError(t, err)
	t.Cleanup(func() { provider.Close() })
	hub, err := newHub()
	require.NoError(t, err)
	return &shop{app: app, provider: provider, hub: hub, hold: time.Minute}
}

func openSQLite(t *testing.T) *shop {
	t.Helper()
	return openShop(t, sqlite.Open("sqlite://"+filepath.Join(t.TempDir(), "tickets.db")))
}

// The write after a charge fails, and the process dies when the ticket is about to be
// written: the card is charged once, and there is one ticket.
func TestChargeIsRepeated(t *testing.T) {
	s := openSQLite(t)
	app, provider := s.app, s.provider
	s.handle()
	kit := millracetest.New(t, app)
	require.NoError(t, s.migrate(t.Context()))

	require.NoError(t, s.take(t.Context(), "A1", "ada"))
	require.NoError(t, s.pay(t.Context(), "A1", "ada", "good"))
	exec := func(statement string) {
		require.NoError(t, app.Do(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, statement)
			return err
		}))
	}
	exec(`ALTER TABLE orders RENAME TO absent`)
	require.NotEmpty(t, kit.Deliver())
	require.Len(t, provider.charges, 1)
	require.Empty(t, millracetest.Emitted[Paid](kit))
	exec(`ALTER TABLE absent RENAME TO orders`)

	kit.CrashBeforeCommit("tickets", 1)
	require.Len(t, kit.Advance(time.Minute), 1, "the crash")
	require.Empty(t, kit.Advance(time.Minute))
	kit.Redeliver()
	require.Len(t, provider.charges, 1)
	require.Len(t, millracetest.Emitted[Paid](kit), 1)
	require.Equal(t, []Issued{{"A1", "ada"}}, millracetest.Emitted[Issued](kit))
}

// A buyer holds one seat at a time, also if two requests for two seats come at once. Taking
// the seat again prolongs nothing.
func TestOneSeatAtATime(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { testOneSeat(t, openSQLite(t)) })
	t.Run("postgres", func(t *testing.T) {
		s := openShop(t, postgres.Open(servicetest.PostgresURL(t)))
		testOneSeat(t, s)
		other := make(chan error, 1)
		require.NoError(t, s.app.Do(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if err := s.take(ctx, "C1", "eve"); err != nil {
				return err
			}
			go func() { other <- s.take(t.Context(), "C2", "eve") }()
			for waiting := 0; waiting == 0 && len(other) == 0; {
				err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`).Scan(&waiting)
				if err != nil {
					return err
				}
			}
			return nil
		}))
		require.ErrorIs(t, <-other, errTaken)
		require.Equal(t, []string{"C1"}, heldBy(t, s, "eve"))
	})
}

func testOneSeat(t *testing.T, s *shop) {
	require.NoError(t, errors.Join(s.app.Migrate(t.Context()), s.migrate(t.Context())))
	take := func(seat, buyer string) error { return s.take(t.Context(), seat, buyer) }
	require.NoError(t, errors.Join(take("A1", "ada"), take("B1", "bob")))
	before, err := s.seats(t.Context(), "ada")
	require.NoError(t, err)
	s.hold = time.Hour
	require.NoError(t, take("A1", "ada"))
	after, err := s.seats(t.Context(), "ada")
	require.NoError(t, err)
	require.Equal(t, before, after, "the hold was prolonged")
	require.NoError(t, take("A2", "ada"))
	require.Equal(t, []string{"A2"}, heldBy(t, s, "ada"))
	require.ErrorIs(t, take("B1", "ada"), errTaken)
	require.Equal(t, []string{"A2"}, heldBy(t, s, "ada"))
}

func heldBy(t *testing.T, s *shop, buyer string) (held []string) {
	t.Helper()
	all, err := s.seats(t.Context(), buyer)
	require.NoError(t, err)
	for _, seat := range all {
		if seat.Mine && seat.State == "held" {
			held = append(held, seat.ID)
		}
	}
	return held
}
