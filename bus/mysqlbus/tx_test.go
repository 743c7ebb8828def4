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

	"github.com/millrace-go/millrace/bus"
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

// The table of offsets of an earlier release keeps groups as text.
func TestTxGroupsAsText(t *testing.T) { each(t, testTxGroupsAsText) }

func testTxGroupsAsText(t *testing.T, transport logbustest.Transport) {
	url := transport.URL(t)
	db := transport.App(t, url, 1)
	b := transport.Open(t, url+"?mode=tx", logbustest.Settings{})
	join := func(group string) error {
		return b.Driver().Declare(t.Context(), bus.Topic{Name: "topic", Groups: []string{group}})
	}
	require.NoError(t, join("group"))
	_, err := db.Exec("ALTER TABLE wm_offsets_topic MODIFY consumer_group VARCHAR(255) COLLATE utf8mb4_general_ci NOT NULL")
	require.NoError(t, err)
	require.NoError(t, join("group"))
	require.ErrorContains(t, join("Group"), "run ALTER TABLE `wm_offsets_topic` MODIFY consumer_group VARBINARY(255) NOT NULL")
	_, err = db.Exec("ALTER TABLE `wm_offsets_topic` MODIFY consumer_group VARBINARY(255) NOT NULL")
	require.NoError(t, err)
	require.NoError(t, join("Group"))
	sourcetest.Publish(t, b, "topic", logbustest.Keyed("k", "1"))
	for _, group := range []string{"group", "Group"} {
		logbustest.Expect(t, sourcetest.Subscribe(t, b, group, "topic", 1), "1")
	}
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
