package mysqlbus_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

// The control of TestConcurrentWriters: with Watermill SQL's own adapters for MySQL, the
// subscriber permanently skips a message whose writer has its number and waits for a lock, such
// as that of the subscriber itself, while the next writer commits.
func TestWatermillsOwnAdaptersLose(t *testing.T) {
	servicetest.EachMySQL(t, testWatermillsOwnAdaptersLose)
}

func testWatermillsOwnAdaptersLose(t *testing.T, server servicetest.MySQLServer) {
	url := server.URL(t)
	tr := transport
	tr.OpenDB = plain
	db := tr.App(t, url, 8)
	schema := wmsql.DefaultMySQLSchema{GeneratePayloadType: func(string) string { return "LONGBLOB" }}
	sub, err := wmsql.NewSubscriber(db, wmsql.SubscriberConfig{
		ConsumerGroup: "group", SchemaAdapter: schema, OffsetsAdapter: wmsql.DefaultMySQLOffsetsAdapter{},
		InitializeSchema: true, PollInterval: time.Millisecond,
	}, nil)
	require.NoError(t, err)
	defer sub.Close() //nolint:errcheck // it returns nil
	ch, err := sub.Subscribe(t.Context(), "topic")
	require.NoError(t, err)
	begin := func() *sql.Tx {
		t.Helper()
		// Like the subscriber's transactions, these also lock the gaps between rows.
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
		require.NoError(t, err)
		return tx
	}
	do := func(tx *sql.Tx, query string) {
		t.Helper()
		_, err := tx.Exec(query)
		require.NoError(t, err)
	}
	publish := func(tx *sql.Tx, payload string) error {
		pub, err := wmsql.NewPublisher(tx, wmsql.PublisherConfig{SchemaAdapter: schema}, nil)
		if err != nil {
			return err
		}
		return pub.Publish("topic", message.NewMessage("1", []byte(payload)))
	}
	await := func(query string, want int64) {
		t.Helper()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(30 * time.Second); ; <-tick.C {
			var n sql.NullInt64
			require.NoError(t, db.QueryRow(query).Scan(&n))
			if n.Int64 == want {
				return
			}
			require.Falsef(t, time.Now().After(deadline), "%s is %d, want %d", query, n.Int64, want)
		}
	}

	second, other := begin(), begin()
	defer second.Rollback() //nolint:errcheck // it is committed
	defer other.Rollback()  //nolint:errcheck // it wrote nothing
	do(second, "SELECT * FROM watermill_topic WHERE `offset` > 0 LOCK IN SHARE MODE")
	first := make(chan error, 1)
	go func() { // gets number 1, and has to wait for the lock
		first <- sqltx.Do(t.Context(), db, func(_ context.Context, tx *sql.Tx) error { return publish(tx, "first") })
	}()
	if server.IsMariaDB() {
		await("SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'watermill_topic'", 2)
	} else { // MySQL caches such statistics for a day, but shows the sessions that wait
		await("SELECT COUNT(*) FROM performance_schema.data_locks WHERE OBJECT_SCHEMA = DATABASE() AND LOCK_STATUS = 'WAITING'", 1)
	}
	require.NoError(t, publish(second, "second"))
	do(other, "SELECT * FROM watermill_topic WHERE `offset` = 1 LOCK IN SHARE MODE")
	require.NoError(t, second.Commit())
	logbustest.Expect(t, ch, "second")
	await("SELECT MAX(offset_acked) FROM watermill_offsets_topic", 2)
	require.NoError(t, other.Rollback())
	require.NoError(t, <-first)
	await("SELECT COUNT(*) FROM watermill_topic", 2)
	err = sqltx.Do(t.Context(), db, func(_ context.Context, tx *sql.Tx) error { return publish(tx, "third") })
	require.NoError(t, err)
	// The subscriber never reads a message it has passed. If the first message arrived here, the
	// control would prove nothing.
	logbustest.Expect(t, ch, "third")
}
