package amqpbus_test

import (
	"testing"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// Every bus opens connections of its own, so two of them are like two processes.
// Watermill's TestReconnect reads messages while it still publishes them, so
// TestRestartedBroker replaces it.
func TestConformance(t *testing.T) {
	for _, kind := range []string{"quorum", "classic"} {
		t.Run(kind, func(t *testing.T) {
			b := rabbit(t)
			open := func(t *testing.T) *bus.Bus { return b.open(t, amqpbus.Config{}, "queue_type="+kind) }
			bustest.Run(t, open, bustest.Quick(),
				bustest.Again(func(t *testing.T, _ *bus.Bus) *bus.Bus { return open(t) }),
				bustest.Absent(func(t *testing.T, address string) (*bus.Bus, string) {
					_, server := servicetest.Elsewhere(t, b.url, address)
					return b.openAt(t, amqpbus.Config{}, address, "queue_type="+kind), server
				}),
				bustest.URL(b.url, amqpbus.Scheme(amqpbus.Config{})))
		})
	}
}
