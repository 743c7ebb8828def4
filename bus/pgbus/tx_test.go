package pgbus_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"

	"github.com/millrace-go/millrace/internal/sqllog/logbus/logbustest"
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

func TestTxExactlyOnce(t *testing.T) { txbustest.ExactlyOnce(t, txTransport) }

func TestTxHandlers(t *testing.T) { txbustest.Handlers(t, txTransport) }

func TestTxCloseRollsBack(t *testing.T) { txbustest.CloseRollsBack(t, txTransport) }

func TestTxSerialGroups(t *testing.T) { txbustest.SerialGroups(t, txTransport) }

func TestTxPoison(t *testing.T) { txbustest.Poison(t, txTransport) }

func TestTxWatermill(t *testing.T) { txbustest.Watermill(t, txTransport) }

func TestTxNames(t *testing.T) { txbustest.Names(t, txTransport) }

func TestTxConcurrentWriters(t *testing.T) {
	txbustest.ConcurrentWriters(t, txTransport, logbustest.Writers{Writers: 16, Keys: 200, Messages: 1000, Hold: 2 * time.Millisecond})
}
