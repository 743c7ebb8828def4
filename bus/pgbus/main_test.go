package pgbus_test

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/pgbus"
	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// transport is this transport for the tests that all SQL transports share.
var transport = logbustest.Transport{
	Scheme: func(s logbustest.Settings) bus.Scheme {
		return pgbus.Scheme(pgbus.Config{DB: s.DB, LeaseTTL: s.LeaseTTL, Holder: s.Holder, Logger: s.Logger})
	},
	URL:    servicetest.PostgresURL,
	OpenDB: pgdb.Open,
}

func TestMain(m *testing.M) { logbustest.Main(m, transport) }

func TestTransactions(t *testing.T) {
	t.Parallel()
	logbustest.Transactions(t, transport)
}

func TestOtherDatabase(t *testing.T) {
	t.Parallel()
	logbustest.OtherDatabase(t, transport)
}

func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	logbustest.ConcurrentWriters(t, transport, logbustest.Writers{Writers: 16, Keys: 20, Messages: 4000, Hold: 5 * time.Millisecond})
}

func TestKilledConsumers(t *testing.T) {
	t.Parallel()
	logbustest.KilledConsumers(t, transport)
}

func TestHolder(t *testing.T) {
	t.Parallel()
	logbustest.Holder(t, transport)
}

func TestSharedHolder(t *testing.T) {
	t.Parallel()
	logbustest.SharedHolder(t, transport)
}

func TestOtherProcessWakes(t *testing.T) {
	logbustest.OtherProcessWakes(t, transport, 100*time.Millisecond)
}

func TestStarts(t *testing.T) { logbustest.Starts(t, transport) }

func TestPending(t *testing.T) {
	logbustest.Pending(t, transport, transport.URL(t))
	logbustest.Pending(t, transport, transport.URL(t)+"&mode=tx")
}
