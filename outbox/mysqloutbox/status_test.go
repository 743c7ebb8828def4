package mysqloutbox_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

func openStatus(t testing.TB, cfg mysqloutbox.Config) (driver.SQLStore, *sql.DB) {
	t.Helper()
	db := servicetest.Chosen(t).DB(t)
	cfg.Status = true
	store, err := mysqloutbox.New(db, cfg)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	return store, db
}

func TestStatusConformance(t *testing.T) {
	each(t, func(d storetest.Database, t *testing.T) { d.Conformance(t, true) })
}

func TestStatusMarksByID(t *testing.T) { each(t, storetest.Database.StatusMarksByID) }

func TestStatusPruneGoesOn(t *testing.T) { each(t, storetest.Database.StatusPruneGoesOn) }

// The random tokens of two shards may be the same. A settlement then extends the lease of its own
// shard, and moves no other position.
func TestStatusShardsWithOneToken(t *testing.T) {
	servicetest.EachMySQL(t, testStatusShardsWithOneToken)
}

func testStatusShardsWithOneToken(t *testing.T, _ servicetest.MySQLServer) {
	store, db := openStatus(t, mysqloutbox.Config{Shards: 2})
	var leases [2]driver.Lease
	for shard := range leases {
		var err error
		if leases[shard], err = store.Lease(t.Context(), shard, "me", time.Minute); err != nil {
			t.Fatal(err)
		}
		leases[shard].Token = 7
	}
	_, err := db.ExecContext(t.Context(), `UPDATE outbox_event_leases SET lease_token = 7`)
	require.NoError(t, err)
	look := func(shard int) (until string) {
		t.Helper()
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT lease_until FROM outbox_event_leases WHERE shard = ?`, shard).Scan(&until))
		return until
	}
	own, other := look(0), look(1)
	require.NoError(t, store.Settle(t.Context(), leases[0], driver.Settlement{TTL: time.Hour}))
	if look(0) == own {
		t.Error("the settlement did not extend the lease of its shard")
	}
	if got := look(1); got != other {
		t.Errorf("the settlement of shard 0 extended the lease of shard 1 from %s to %s", other, got)
	}
}

// The lease of another server is lost, for every operation under it.
func TestStatusLeaseEndsWithTheServer(t *testing.T) {
	servicetest.EachMySQL(t, testStatusLeaseEndsWithTheServer)
}

func testStatusLeaseEndsWithTheServer(t *testing.T, _ servicetest.MySQLServer) {
	store, db := openStatus(t, mysqloutbox.Config{})
	for name, items := range map[string][]*driver.Item{
		"renewed": nil, "settled": {{ID: 1, MessageID: uuid.NewString()}},
	} {
		lease, err := store.Lease(t.Context(), 0, "me", time.Hour)
		require.NoError(t, err)
		set := driver.Settlement{TTL: time.Hour, Published: items}
		assert.NoErrorf(t, store.Settle(t.Context(), lease, set), "%s by its server", name)
		_, err = db.ExecContext(t.Context(), `UPDATE outbox_event_leases SET lease_server = CONCAT(lease_server, '0')`)
		require.NoError(t, err)
		assert.ErrorIsf(t, store.Settle(t.Context(), lease, set), driver.ErrLeaseLost, "a lease of another server is %s", name)
	}
}

// TestStatusStress is TestStress on the status store, which has no cursor to compare a naive
// reader with.
func TestStatusStress(t *testing.T) { servicetest.EachMySQL(t, testStatusStress) }

func testStatusStress(t *testing.T, _ servicetest.MySQLServer) {
	store, db := openStatus(t, mysqloutbox.Config{Shards: 2})
	db.SetMaxOpenConns(24)
	outboxtest.RunStress(t, outboxtest.StressConfig{
		Store: store, DB: db, Unrelated: db, Duration: 3 * time.Second, UnrelatedFor: 2500 * time.Millisecond,
	})
}
