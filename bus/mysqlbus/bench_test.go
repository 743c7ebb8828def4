package mysqlbus_test

import (
	"testing"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func benchBus(b testing.TB) *bus.Bus {
	return transport.Open(b, servicetest.MariaDBURL(b), logbustest.Settings{})
}

func benchTx(b testing.TB) *bus.Bus {
	tr := txTransport
	tr.Transport = transport
	tr.URL = servicetest.MariaDBURL
	return tr.Open(b, tr.TxURL(b), logbustest.Settings{})
}

func BenchmarkPublish(b *testing.B) {
	b.Run("log", func(b *testing.B) { logbustest.BenchmarkPublish(b, benchBus) })
	b.Run("tx", func(b *testing.B) { logbustest.BenchmarkPublish(b, benchTx) })
}

func BenchmarkConsume(b *testing.B) {
	b.Run("log", func(b *testing.B) { logbustest.BenchmarkConsume(b, benchBus, 20_000, 1, 256, 1024) })
	b.Run("tx", func(b *testing.B) { logbustest.BenchmarkConsume(b, benchTx, 1000, 1) })
}

func BenchmarkLatency(b *testing.B) {
	b.Run("one process", func(b *testing.B) { bs := benchBus(b); logbustest.BenchmarkLatency(b, bs, bs) })
	b.Run("two processes", func(b *testing.B) {
		url := servicetest.MariaDBURL(b)
		logbustest.BenchmarkLatency(b, transport.Open(b, url, logbustest.Settings{}), transport.Open(b, url, logbustest.Settings{}))
	})
}
