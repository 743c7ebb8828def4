package amqpwatermill_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/bus/amqpbus/amqpwatermill"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

func schemes(cfg amqpwatermill.Config) []bus.Scheme {
	return []bus.Scheme{amqpwatermill.Scheme(amqpbus.Config{Logger: quiet}, cfg)}
}

func openBus(t *testing.T, cfg amqpwatermill.Config, url string) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), url, schemes(cfg)...)
	require.NoError(t, err)
	return b
}

// inMode adds the mode to a URL.
func inMode(url string) string {
	if strings.Contains(url, "?") {
		return url + "&mode=watermill"
	}
	return url + "?mode=watermill"
}

func TestConformance(t *testing.T) {
	url := servicetest.RabbitMQ(t)
	made := clean(t, url)
	open := func(t *testing.T) *bus.Bus { return openBus(t, made.config(), inMode(url)) }
	bustest.Run(t, open, bustest.Quick(),
		bustest.Again(func(t *testing.T, _ *bus.Bus) *bus.Bus { return open(t) }),
		bustest.URL(url+"?mode=watermill&", schemes(amqpwatermill.Config{})...),
		bustest.Absent(func(t *testing.T, address string) (*bus.Bus, string) {
			moved, server := servicetest.Elsewhere(t, url, address)
			return openBus(t, made.config(), inMode(moved)), server
		}))
}
