package kafkabus_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Sarama counts fetches by topic in a registry of the process, which has one
// goroutine for all; there is no way to have none.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}
