package mysqlbus_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
	"github.com/millrace-go/millrace/internal/sourcetest"
	"github.com/millrace-go/millrace/internal/txbus/txbustest"
)

// txTransport is ?mode=tx for the tests that PostgreSQL and MySQL share; eachTx sets the
// transport of a server.
var txTransport = txbustest.Transport{
	Bind: func(s string) string { return s },
	Kill: func(ctx context.Context, admin *sql.DB, tx *sql.Tx) error {
		var id int64
		if err := tx.QueryRowContext(ctx, `SELECT CONNECTION_ID()`).Scan(&id); err != nil {
			return err
		}
		_, err := admin.ExecContext(ctx, fmt.Sprintf(`KILL %d`, id))
		return err
	},
	Schema:  wmsql.DefaultMySQLSchema{GeneratePayloadType: func(string) string { return "LONGBLOB" }},
	Offsets: wmsql.DefaultMySQLOffsetsAdapter{},
}

func eachTx(t *testing.T, run func(t *testing.T, tr txbustest.Transport)) {
	t.Helper()
	each(t, func(t *testing.T, inner logbustest.Transport) {
		tr := txTransport
		tr.Transport = inner
		run(t, tr)
	})
}

func TestTxExactlyOnce(t *testing.T) {
	t.Parallel()
	eachTx(t, txbustest.ExactlyOnce)
}

func TestTxHandlers(t *testing.T) {
	t.Parallel()
	eachTx(t, txbustest.Handlers)
}

func TestTxCloseRollsBack(t *testing.T) {
	t.Parallel()
	eachTx(t, txbustest.CloseRollsBack)
}

func TestTxSecondInstance(t *testing.T) {
	t.Parallel()
	eachTx(t, txbustest.SecondInstance)
}

func TestTxSerialGroups(t *testing.T) {
	t.Parallel()
	eachTx(t, txbustest.SerialGroups)
}

func TestTxPoison(t *testing.T) {
	t.Parallel()
	eachTx(t, txbustest.Poison)
}

func TestTxWatermill(t *testing.T) {
	t.Parallel()
	eachTx(t, func(t *testing.T, tr txbustest.Transport) {
		tr.OpenDB = plain
		txbustest.Watermill(t, tr)
	})
}

func TestTxNames(t *testing.T) {
	t.Parallel()
	eachTx(t, txbustest.Names)
}

func TestTxConcurrentWriters(t *testing.T) {
	t.Parallel()
	eachTx(t, func(t *testing.T, tr txbustest.Transport) {
		txbustest.ConcurrentWriters(t, tr, logbustest.Writers{Writers: 16, Keys: 200, Messages: 1000, Hold: 2 * time.Millisecond})
	})
}

// plain opens the driver without our defaults. On MySQL, a client that interpolates cannot write
// JSON as Watermill SQL does.
func plain(rawURL string) (*sql.DB, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr, cfg.DBName, cfg.User = "tcp", u.Host, strings.TrimPrefix(u.Path, "/"), u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// A table with messages that Watermill SQL has made gets the column.
func TestTxTakesOverWatermillsTable(t *testing.T) { each(t, testTxTakesOverWatermillsTable) }

func testTxTakesOverWatermillsTable(t *testing.T, transport logbustest.Transport) {
	url := transport.URL(t)
	transport.OpenDB = plain
	db := transport.App(t, url, 4)
	schema := wmsql.DefaultMySQLSchema{} // with a payload of JSON
	pub, err := wmsql.NewPublisher(db, wmsql.PublisherConfig{SchemaAdapter: schema, AutoInitializeSchema: true}, nil)
	require.NoError(t, err)
	defer pub.Close()
	require.NoError(t, pub.Publish("topic", logbustest.Keyed("k", `"old"`)))
	for range 2 {
		b := transport.Open(t, url+"?mode=tx", logbustest.Settings{})
		require.NoError(t, b.Publisher().Publish("topic", logbustest.Keyed("k", `"new"`)))
	}
	b := transport.Open(t, url+"?mode=tx", logbustest.Settings{})
	ch := sourcetest.Subscribe(t, b, "group", "topic", 1)
	for _, want := range []string{`"old"`, `"new"`, `"new"`} {
		logbustest.Expect(t, ch, want)
	}
}
