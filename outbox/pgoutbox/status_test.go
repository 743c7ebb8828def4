package pgoutbox_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

func openStatus(t testing.TB, cfg pgoutbox.Config) (driver.SQLStore, *sql.DB) {
	t.Helper()
	db := servicetest.Postgres(t)
	cfg.Status = true
	store, err := pgoutbox.New(db, cfg)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	return store, db
}

func TestStatusConformance(t *testing.T) { database.Conformance(t, true) }

func TestStatusMarksByID(t *testing.T) { database.StatusMarksByID(t) }

// After a crash of the server the lease is lost, for every operation under it.
func TestStatusLeaseEndsWithTheServer(t *testing.T) {
	store, db := openStatus(t, pgoutbox.Config{})
	event := func(seq int64) *driver.Item { return &driver.Item{ID: seq, MessageID: uuid.NewString()} }
	for name, items := range map[string][]*driver.Item{
		"renewed": nil, "settled in a row": {event(1), event(2)}, "settled": {event(1), event(9)},
	} {
		lease, err := store.Lease(t.Context(), 0, "me", time.Hour)
		require.NoError(t, err)
		set := driver.Settlement{TTL: time.Hour, Published: items}
		assert.NoErrorf(t, store.Settle(t.Context(), lease, set), "%s by its server", name)
		_, err = db.ExecContext(t.Context(), `UPDATE outbox_event_progress SET lease_server = lease_server || '0'`)
		require.NoError(t, err)
		assert.ErrorIsf(t, store.Settle(t.Context(), lease, set), driver.ErrLeaseLost, "a lease of another run of the server is %s", name)
	}
}
