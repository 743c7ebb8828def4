package sqlitebus_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

// transport is this transport for the tests that all SQL transports share.
var transport = logbustest.Transport{
	Scheme: func(s logbustest.Settings) bus.Scheme {
		return sqlitebus.Scheme(sqlitebus.Config{DB: s.DB, LeaseTTL: s.LeaseTTL, Holder: s.Holder, Logger: s.Logger})
	},
	URL: func(t testing.TB) string {
		return "sqlite://" + filepath.Join(t.TempDir(), "bus.db") + "?synchronous=normal"
	},
	OpenDB: func(url string) (*sql.DB, error) {
		path, _, _ := strings.Cut(strings.TrimPrefix(url, "sqlite://"), "?")
		return sqlitedb.Open(path, sqlitedb.Config{})
	},
}

func TestMain(m *testing.M) { logbustest.Main(m, transport) }

func TestKilledConsumers(t *testing.T) { logbustest.KilledConsumers(t, transport) }

func TestHolder(t *testing.T) { logbustest.Holder(t, transport) }

func TestSharedHolder(t *testing.T) { logbustest.SharedHolder(t, transport) }

func TestStarts(t *testing.T) { logbustest.Starts(t, transport) }

func TestPending(t *testing.T) { logbustest.Pending(t, transport, transport.URL(t)) }
