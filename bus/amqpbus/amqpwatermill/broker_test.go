package amqpwatermill_test

import (
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	wmamqp "github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/bus/amqpbus/amqpwatermill"
)

// made remembers queues and exchanges on the shared broker, to delete them.
type made struct {
	mu                sync.Mutex
	queues, exchanges map[string]struct{}
}

// clean deletes the queues and exchanges of the config at the end of the test.
func clean(t *testing.T, url string) *made {
	m := &made{queues: map[string]struct{}{}, exchanges: map[string]struct{}{}}
	t.Cleanup(func() {
		conn, err := amqp.Dial(url)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close() //nolint:errcheck // a test's side connection
		ch, err := conn.Channel()
		for name := range m.queues {
			if err == nil {
				_, err = ch.QueueDelete(name, false, false, false)
			}
		}
		for name := range m.exchanges {
			if err == nil {
				err = ch.ExchangeDelete(name, false, false)
			}
		}
		assert.NoError(t, err, "clear the broker")
	})
	return m
}

func (m *made) config() amqpwatermill.Config {
	return amqpwatermill.Config{Adapter: func(c *wmamqp.Config) { c.TopologyBuilder = noting{c.TopologyBuilder, m} }}
}

type noting struct {
	wmamqp.TopologyBuilder
	made *made
}

func (n noting) BuildTopology(ch *amqp.Channel, queue, exchange string, c wmamqp.Config, logger watermill.LoggerAdapter) error {
	n.made.mu.Lock()
	n.made.queues[queue], n.made.exchanges[exchange] = struct{}{}, struct{}{}
	n.made.mu.Unlock()
	return n.TopologyBuilder.BuildTopology(ch, queue, exchange, c, logger)
}

func (n noting) ExchangeDeclare(ch *amqp.Channel, exchange string, c wmamqp.Config) error {
	n.made.mu.Lock()
	n.made.exchanges[exchange] = struct{}{}
	n.made.mu.Unlock()
	return n.TopologyBuilder.ExchangeDeclare(ch, exchange, c)
}
