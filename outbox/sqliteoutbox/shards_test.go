package sqliteoutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// TestRolledBackNumberOfShards: an Append whose transaction stored the number of shards and was
// rolled back does not make later ones believe in that number.
func TestRolledBackNumberOfShards(t *testing.T) {
	_, db := servicetest.SQLite(t)
	opened := func(shards int) (driver.SQLStore, func(outcome error, keys ...string) error) {
		store, err := sqliteoutbox.New(db, sqliteoutbox.Config{Shards: shards})
		require.NoError(t, err)
		box, err := outbox.New(store, outbox.Config{Topic: "t"})
		require.NoError(t, err)
		return store, func(outcome error, keys ...string) error {
			return sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
				for _, key := range keys {
					e, err := outboxtest.NewEvent(key, 1)
					if err := errors.Join(err, box.Append(ctx, tx, e)); err != nil {
						return err
					}
				}
				return outcome
			})
		}
	}
	operator, _ := opened(1)
	require.NoError(t, operator.Migrate(t.Context()))
	_, err := db.Exec(`DELETE FROM outbox_settings`) // as the printed migrations leave it
	require.NoError(t, err)
	_, one := opened(1)
	_, four := opened(4)

	no := errors.New("no")
	require.ErrorIs(t, one(no, "a", "b"), no)
	require.NoError(t, four(nil, "a"))
	require.ErrorIs(t, one(nil, "b"), driver.ErrShards)
}
