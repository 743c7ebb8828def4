package kafkawatermill_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/bus/kafkabus/kafkawatermill"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestMain(m *testing.M) {
	// Sarama counts fetches by topic in a registry of the process, which has one goroutine
	// for all topics and cannot be disabled.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

var quiet = slog.New(slog.DiscardHandler)

// With a short wait, members come and go sooner.
var soon = kafkawatermill.Config{Sarama: func(c *sarama.Config) { c.Consumer.MaxWaitTime = 50 * time.Millisecond }}

func schemes() []bus.Scheme {
	return []bus.Scheme{kafkawatermill.Scheme(kafkabus.Config{Logger: quiet}, soon)}
}

func openBus(t *testing.T, url string) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), url, schemes()...)
	require.NoError(t, err)
	return b
}

func TestConformance(t *testing.T) {
	url := "kafka://" + servicetest.Kafka(t) + "/"
	open := func(t *testing.T) *bus.Bus { return openBus(t, url+"?mode=watermill") }
	bustest.Run(t, open, bustest.Quick(),
		bustest.Again(func(t *testing.T, _ *bus.Bus) *bus.Bus { return open(t) }),
		bustest.URL(url+"?mode=watermill&", schemes()...), // a query is appended
		bustest.Absent(func(t *testing.T, address string) (*bus.Bus, string) {
			moved, server := servicetest.Elsewhere(t, url, address)
			return openBus(t, moved+"?mode=watermill"), server
		}))
}
