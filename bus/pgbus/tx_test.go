package pgbus_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
	"github.com/millrace-go/millrace/internal/sourcetest"
	"github.com/millrace-go/millrace/internal/txbus/txbustest"
)

// txTransport is ?mode=tx for the tests that PostgreSQL and MySQL share.
var txTransport = txbustest.Transport{
	Transport: transport,
	Bind:      func(s string) string { return strings.Replace(s, "?", "$1", 1) },
	Kill: func(ctx context.Context, admin *sql.DB, tx *sql.Tx) error {
		var pid int
		if err := tx.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
			return err
		}
		_, err := admin.ExecContext(ctx, `SELECT pg_terminate_backend($1, 5000)`, pid)
		return err
	},
	Schema:  wmsql.DefaultPostgreSQLSchema{GeneratePayloadType: func(string) string { return "BYTEA" }},
	Offsets: wmsql.DefaultPostgreSQLOffsetsAdapter{},
}

func TestTxExactlyOnce(t *testing.T) {
	t.Parallel()
	txbustest.ExactlyOnce(t, txTransport)
}

func TestTxConflict(t *testing.T) {
	t.Parallel()
	url := transport.URL(t)
	txbustest.Conflict(t, txTransport, url, transport.App(t, url+"&default_transaction_isolation=repeatable%20read", 4))
}

func TestTxHandlers(t *testing.T) {
	t.Parallel()
	txbustest.Handlers(t, txTransport)
}

func TestTxCloseRollsBack(t *testing.T) {
	t.Parallel()
	txbustest.CloseRollsBack(t, txTransport)
}

func TestTxSecondInstance(t *testing.T) {
	t.Parallel()
	txbustest.SecondInstance(t, txTransport)
}

func TestTxSerialGroups(t *testing.T) {
	t.Parallel()
	txbustest.SerialGroups(t, txTransport)
}

func TestTxPoison(t *testing.T) {
	t.Parallel()
	txbustest.Poison(t, txTransport)
}

func TestTxWatermill(t *testing.T) {
	t.Parallel()
	txbustest.Watermill(t, txTransport)
}

func TestTxNames(t *testing.T) {
	t.Parallel()
	txbustest.Names(t, txTransport)
}

func TestTxConcurrentWriters(t *testing.T) {
	t.Parallel()
	txbustest.ConcurrentWriters(t, txTransport, logbustest.Writers{Writers: 16, Keys: 200, Messages: 1000, Hold: 2 * time.Millisecond})
}

// A table with messages that Watermill SQL has made gets the column.
func TestTxTakesOverWatermillsTable(t *testing.T) {
	url := transport.URL(t)
	db := transport.App(t, url, 4)
	schema := wmsql.DefaultPostgreSQLSchema{} // with a payload of JSON
	pub, err := wmsql.NewPublisher(db, wmsql.PublisherConfig{SchemaAdapter: schema, AutoInitializeSchema: true}, nil)
	require.NoError(t, err)
	defer pub.Close()
	require.NoError(t, pub.Publish("topic", logbustest.Keyed("k", `"old"`)))
	for range 2 {
		b := transport.Open(t, url+"&mode=tx", logbustest.Settings{})
		require.NoError(t, b.Publisher().Publish("topic", logbustest.Keyed("k", `"new"`)))
	}
	b := transport.Open(t, url+"&mode=tx", logbustest.Settings{})
	ch := sourcetest.Subscribe(t, b, "group", "topic", 1)
	for _, want := range []string{`"old"`, `"new"`, `"new"`} {
		logbustest.Expect(t, ch, want)
	}
}

// A Publish that the server does not answer ends with the context of its message: Watermill SQL
// itself gives no context to its statement.
func TestTxPublishEndsWithItsContext(t *testing.T) {
	url := transport.URL(t)
	b := transport.Open(t, url+"&mode=tx", logbustest.Settings{})
	require.NoError(t, b.Publisher().Publish("topic", logbustest.Keyed("k", "1")))
	lock, err := transport.App(t, url, 1).BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer lock.Rollback()
	_, err = lock.ExecContext(t.Context(), `LOCK TABLE watermill_topic`)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	m := logbustest.Keyed("k", "2")
	m.SetContext(ctx)
	published := make(chan error, 1)
	go func() { published <- b.Publisher().Publish("topic", m) }()
	select {
	case err := <-published:
		var outcome *bus.PublishError
		if !errors.As(err, &outcome) || outcome.Outcomes[0] != driver.Unknown || fault.Of(err) != fault.Infrastructure {
			t.Errorf("Publish: %v, of class %s", err, fault.Of(err))
		}
	case <-time.After(10 * time.Second):
		t.Error("Publish waits for the server after the end of its context")
		lock.Rollback()
		<-published
	}
}
