package mysqlbus_test

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// transport is this transport for the tests that all SQL transports share; each test sets its
// URLs.
var transport = logbustest.Transport{
	Scheme: func(s logbustest.Settings) bus.Scheme {
		return mysqlbus.Scheme(mysqlbus.Config{DB: s.DB, LeaseTTL: s.LeaseTTL, Holder: s.Holder, Logger: s.Logger})
	},
	OpenDB: mysqldb.Open,
}

// each runs a test on every server.
func each(t *testing.T, run func(t *testing.T, tr logbustest.Transport)) {
	t.Helper()
	servicetest.EachMySQL(t, func(t *testing.T, server servicetest.MySQLServer) {
		tr := transport
		tr.URL = server.URL
		run(t, tr)
	})
}

func TestMain(m *testing.M) { logbustest.Main(m, transport) }

func TestTransactions(t *testing.T) {
	t.Parallel()
	each(t, logbustest.Transactions)
}

func TestOtherDatabase(t *testing.T) {
	t.Parallel()
	each(t, logbustest.OtherDatabase)
}

func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, tr logbustest.Transport) {
		logbustest.ConcurrentWriters(t, tr, logbustest.Writers{Writers: 16, Keys: 500, Messages: 8000, Rate: 2500, Hold: 3 * time.Millisecond})
	})
}

func TestKilledConsumers(t *testing.T) {
	t.Parallel()
	each(t, logbustest.KilledConsumers)
}

func TestHolder(t *testing.T) {
	t.Parallel()
	each(t, logbustest.Holder)
}

func TestSharedHolder(t *testing.T) {
	t.Parallel()
	each(t, logbustest.SharedHolder)
}

func TestOtherProcessWakes(t *testing.T) {
	each(t, func(t *testing.T, tr logbustest.Transport) { logbustest.OtherProcessWakes(t, tr, 300*time.Millisecond) })
}

func TestStarts(t *testing.T) { each(t, logbustest.Starts) }

func TestPending(t *testing.T) {
	each(t, func(t *testing.T, tr logbustest.Transport) {
		logbustest.Pending(t, tr, tr.URL(t))
		logbustest.Pending(t, tr, tr.URL(t)+"?mode=tx")
	})
}
