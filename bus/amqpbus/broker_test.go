package amqpbus_test

import (
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// broker is a RabbitMQ on which a test has an exchange of its own.
type broker struct {
	url      string
	exchange string
}

// rabbit returns the shared server. The test's exchange and queues are deleted at its end.
func rabbit(t testing.TB) *broker {
	t.Helper()
	return onBroker(t, servicetest.RabbitMQ(t))
}

func onBroker(t testing.TB, url string) *broker {
	t.Helper()
	b := &broker{url: url, exchange: "test-" + uuid.NewString()}
	t.Cleanup(func() {
		b.do(t, func(ch *amqp.Channel) error { return ch.ExchangeDelete(b.exchange, false, false) })
	})
	return b
}

// do runs fn on a channel of its own.
func (b *broker) do(t testing.TB, fn func(ch *amqp.Channel) error) {
	t.Helper()
	conn, err := amqp.Dial(b.url)
	if err != nil {
		t.Errorf("connect to RabbitMQ: %v", err)
		return
	}
	defer conn.Close() //nolint:errcheck // a test's side connection
	ch, err := conn.Channel()
	if err == nil {
		err = fn(ch)
	}
	assert.NoError(t, err, "RabbitMQ")
}

// rawURL is a URL of the broker with parameters, and with the test's exchange.
func (b *broker) rawURL(t testing.TB, host, query string) string {
	t.Helper()
	u, err := url.Parse(b.url)
	if err != nil {
		t.Fatal("MILLRACE_RABBITMQ_URL is no valid URL") // its parse error would print the password
	}
	if host != "" {
		u.Host = host
	}
	u.RawQuery = "exchange=" + b.exchange
	if query != "" {
		u.RawQuery += "&" + query
	}
	return u.String()
}

// open opens a bus; its queues are deleted at the test's end.
func (b *broker) open(t testing.TB, cfg amqpbus.Config, query string) *bus.Bus {
	t.Helper()
	return b.openAt(t, cfg, "", query)
}

func (b *broker) openAt(t testing.TB, cfg amqpbus.Config, host, query string) *bus.Bus {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	opened, err := bus.Open(t.Context(), b.rawURL(t, host, query), amqpbus.Scheme(cfg))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, opened.Close(), "close the bus")
		b.drop(t, amqpbus.Queues(opened.Driver())...)
	})
	return opened
}

// drop deletes queues.
func (b *broker) drop(t testing.TB, queues ...string) {
	t.Helper()
	b.do(t, func(ch *amqp.Channel) error {
		for _, q := range queues {
			if _, err := ch.QueueDelete(q, false, false, false); err != nil {
				return err
			}
		}
		return nil
	})
}

func unique(prefix string) string { return prefix + "-" + uuid.NewString() }

func declare(t testing.TB, b *bus.Bus, topics ...bus.Topic) {
	t.Helper()
	require.NoError(t, b.Declare(t.Context(), topics...))
}

var publish = sourcetest.Publish

// keyed makes the n-th message of a key.
func keyed(key string, n int) *message.Message {
	m := message.NewMessage(uuid.NewString(), []byte(key+"#"+strconv.Itoa(n)))
	m.Metadata.Set(event.KeyHeader, key)
	return m
}

func keyName(k int) string { return fmt.Sprintf("key-%d", k) }
