package cli_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/transporttest"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
)

// transports make a place for the test on each transport, for one topic. The place is
// removed with the test.
var transports = map[string]func(t *testing.T, topic string) (rawURL string){
	"sqlite":   func(t *testing.T, topic string) string { return "sqlite://" + filepath.Join(t.TempDir(), "bus.db") },
	"postgres": func(t *testing.T, topic string) string { return servicetest.PostgresURL(t) },
	"mariadb":  func(t *testing.T, topic string) string { return servicetest.MariaDBURL(t) },
	"mysql":    func(t *testing.T, topic string) string { return servicetest.MySQLURL(t) },
	"redis":    func(t *testing.T, topic string) string { return transporttest.Redis(t) },
	"kafka": func(t *testing.T, topic string) string {
		return transporttest.Kafka(t, topic, topic+".DLT") + "?partitions=2"
	},
	"amqp": func(t *testing.T, topic string) string {
		return transporttest.RabbitMQ(t, topic+":"+group+":0", topic+":"+ownGroup(topic)+":0", topic+".DLT") + "&partitions=1"
	},
	"nats": func(t *testing.T, topic string) string { return natstest.URL(t) },
	"sqs":  func(t *testing.T, topic string) string { return transporttest.SQS(t) },
	"sns":  func(t *testing.T, topic string) string { return transporttest.SNS(t) },
}

// eachTransport runs a test on each transport.
func eachTransport(t *testing.T, test func(t *testing.T, rawURL, topic string)) {
	for name, fresh := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := uniqueTopic()
			test(t, fresh(t, topic), topic)
		})
	}
}

// ownGroup is a group of one test. On Kafka a group is live while it has members on any
// topic, and billing is the group of many tests.
func ownGroup(topic string) string { return topic + "-billing" }

func uniqueTopic() string { return "orders-" + uuid.NewString()[:8] }

// openBus opens a transport as an application does.
func openBus(t *testing.T, rawURL string) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), rawURL, allbus.Schemes(allbus.Config{Logger: slog.New(slog.DiscardHandler)})...)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close())
	})
	return b
}
