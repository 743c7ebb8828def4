package pgbus_test

import (
	"testing"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
)

func benchBus(b testing.TB) *bus.Bus {
	return transport.Open(b, transport.URL(b), logbustest.Settings{})
}

func benchTx(b testing.TB) *bus.Bus {
	return txTransport.Open(b, txTransport.TxURL(b), logbustest.Settings{})
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
		url := transport.URL(b)
		logbustest.BenchmarkLatency(b, transport.Open(b, url, logbustest.Settings{}), transport.Open(b, url, logbustest.Settings{}))
	})
}
