package mysqlbus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// Every bus opens a pool of its own, so two buses on one database are like two processes.
func TestConformance(t *testing.T) {
	t.Parallel()
	servicetest.EachMySQL(t, func(t *testing.T, server servicetest.MySQLServer) { conformance(t, server, "log") })
}

func conformance(t *testing.T, server servicetest.MySQLServer, mode string) {
	scheme := mysqlbus.Scheme(mysqlbus.Config{})
	urls := map[*bus.Bus]string{}
	open := func(t *testing.T, url string) *bus.Bus {
		b, err := bus.Open(t.Context(), url+"?mode="+mode, scheme)
		require.NoError(t, err)
		urls[b] = url
		return b
	}
	opts := []bustest.Option{
		bustest.Again(func(t *testing.T, b *bus.Bus) *bus.Bus { return open(t, urls[b]) }),
		bustest.URL("mysql://millrace@127.0.0.1:1/nowhere", scheme),
		bustest.Absent(func(t *testing.T, address string) (*bus.Bus, string) {
			url, host := servicetest.Elsewhere(t, server.URL(t), address)
			return open(t, url), host
		}),
	}
	if raceDetector || mode == "tx" { // in mode=tx each delivery is a separate commit
		opts = append(opts, bustest.Quick())
	}
	bustest.Run(t, func(t *testing.T) *bus.Bus { return open(t, server.URL(t)) }, opts...)
}

func TestConformanceTx(t *testing.T) {
	t.Parallel()
	servicetest.EachMySQL(t, func(t *testing.T, server servicetest.MySQLServer) { conformance(t, server, "tx") })
}
