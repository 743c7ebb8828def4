package kafkabus_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// fake starts a cluster in this process.
func fake(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func urlOf(c *kfake.Cluster) string { return "kafka://" + strings.Join(c.ListenAddrs(), ",") + "/" }

// real returns the URL of the Kafka that the environment names.
func real(t testing.TB) string {
	t.Helper()
	return "kafka://" + servicetest.Kafka(t) + "/"
}

// both runs a test on the cluster in this process and on the real one.
func both(t *testing.T, test func(t *testing.T, url string)) {
	t.Parallel()
	t.Run("fake", func(t *testing.T) {
		servicetest.Embedded(t)
		t.Parallel()
		test(t, urlOf(fake(t)))
	})
	t.Run("kafka", func(t *testing.T) {
		t.Parallel()
		test(t, real(t))
	})
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func openBus(t testing.TB, cfg kafkabus.Config, url string) *bus.Bus {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	b, err := bus.Open(t.Context(), url, kafkabus.Scheme(cfg))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close(), "close")
	})
	return b
}

// name returns a unique topic or group name.
func name(prefix string) string { return prefix + "-" + uuid.NewString() }

var (
	publish = sourcetest.Publish
	keyed   = sourcetest.Keyed
	receive = sourcetest.Receive
)

func subscriber(t testing.TB, b *bus.Bus, group string, window int) message.Subscriber {
	t.Helper()
	sub := sourcetest.Subscriber(b.Driver(), group, window)
	t.Cleanup(func() { sub.Close() }) //nolint:errcheck // the tests of Close look at it
	return sub
}

func subscribe(t testing.TB, sub message.Subscriber, topic string) <-chan *message.Message {
	t.Helper()
	ch, err := sub.Subscribe(context.WithoutCancel(t.Context()), topic)
	require.NoError(t, err)
	return ch
}

func expect(t testing.TB, ch <-chan *message.Message, payloads ...string) {
	t.Helper()
	for _, want := range payloads {
		m := receive(t, ch)
		if string(m.Payload) != want {
			t.Fatalf("got %s, want %s", m.Payload, want)
		}
		m.Ack()
	}
}
