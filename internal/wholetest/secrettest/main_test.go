package secrettest

import (
	"testing"

	"go.uber.org/goleak"
)

// The Kafka client's metrics have a goroutine for the process that never ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}
