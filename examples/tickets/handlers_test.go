package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/millracetest"
	"github.com/millrace-go/millrace/sqlite"
)

// The write after a charge fails, and the process dies when the ticket is about to be
// written: the card is charged once, and there is one ticket.
func TestChargeIsRepeated(t *testing.T) {
	folder := t.TempDir()
	app, err := millrace.New(sqlite.Open("sqlite://"+filepath.Join(folder, "tickets.db")), millrace.Config{Service: "tickets"})
	require.NoError(t, err)
	defer app.Close()
	provider, err := openProvider(filepath.Join(folder, "charges"))
	require.NoError(t, err)
	defer provider.Close()
	hub, err := newHub()
	require.NoError(t, err)
	s := &shop{app: app, provider: provider, hub: hub, hold: time.Minute}
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
