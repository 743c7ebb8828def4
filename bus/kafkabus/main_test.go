package kafkabus_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The tests mostly wait for the brokers, so more of them run at once than there are
	// processors. Flags of the command line come first.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	// Sarama counts fetches by topic in a registry of the process, which has one goroutine
	// for all topics and cannot be disabled.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}
