package sqlitebus_test

import (
	"path/filepath"
	"testing"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
)

func benchBus(synchronous string) func(testing.TB) *bus.Bus {
	return func(b testing.TB) *bus.Bus {
		return openBus(b, sqlitebus.Config{}, "sqlite://"+filepath.Join(b.TempDir(), "bus.db")+"?synchronous="+synchronous)
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, synchronous := range []string{"full", "normal"} {
		b.Run(synchronous, func(b *testing.B) { logbustest.BenchmarkPublish(b, benchBus(synchronous)) })
	}
}

func BenchmarkConsume(b *testing.B) {
	logbustest.BenchmarkConsume(b, benchBus("full"), 20_000, 1, 256, 1024)
}

func BenchmarkLatency(b *testing.B) {
	bs := benchBus("full")(b)
	logbustest.BenchmarkLatency(b, bs, bs)
}
