package cli_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/bus/pgbus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// transports make a place of the test's own on each transport, for one topic.
// What is in it goes with the test.
var transports = map[string]func(t *testing.T, topic string) (rawURL string){
	"sqlite":   func(t *testing.T, topic string) string { return "sqlite://" + filepath.Join(t.TempDir(), "bus.db") },
	"postgres": func(t *testing.T, topic string) string { return servicetest.PostgresURL(t) },
	"mysql":    func(t *testing.T, topic string) string { return servicetest.MariaDBURL(t) },
	"redis": func(t *testing.T, topic string) string {
		raw, prefix := servicetest.Redis(t), "t"+uuid.NewString()+":"
		t.Cleanup(func() { clearRedis(t, raw, prefix) })
		return with(raw, url.Values{"prefix": {prefix}})
	},
	"kafka": func(t *testing.T, topic string) string {
		t.Cleanup(func() { clearKafka(t, topic, topic+".DLT") })
		return "kafka://" + servicetest.Kafka(t) + "/?partitions=2"
	},
	"amqp": func(t *testing.T, topic string) string {
		raw, exchange := servicetest.RabbitMQ(t), "test-"+uuid.NewString()
		t.Cleanup(func() { clearRabbit(t, raw, exchange, topic+":"+group+":0", topic+".DLT") })
		return with(raw, url.Values{"exchange": {exchange}, "partitions": {"1"}})
	},
	"sqs": func(t *testing.T, topic string) string {
		endpoint, prefix := servicetest.SQS(t), "t"+uuid.NewString()[:8]+"-"
		t.Cleanup(func() { clearSQS(t, endpoint, prefix) })
		return with("sqs://key:secret@elasticmq/", url.Values{"endpoint": {endpoint}, "prefix": {prefix}, "wait": {"50ms"}})
	},
}

// eachTransport runs a test on each transport.
func eachTransport(t *testing.T, test func(t *testing.T, rawURL, topic string)) {
	for name, fresh := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := "orders-" + uuid.NewString()[:8]
			test(t, fresh(t, topic), topic)
		})
	}
}

// openBus opens a transport as an application does.
func openBus(t *testing.T, rawURL string) *bus.Bus {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	b, err := allbus.NewOpener(allbus.Config{
		SQLite: sqlitebus.Config{Logger: quiet}, Postgres: pgbus.Config{Logger: quiet}, MySQL: mysqlbus.Config{Logger: quiet},
		Redis: redisbus.Config{Logger: quiet}, Kafka: kafkabus.Config{Logger: quiet}, AMQP: amqpbus.Config{Logger: quiet},
		SQS: sqsbus.Config{Logger: quiet},
	}).Open(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func clearRedis(t *testing.T, raw, prefix string) {
	client, err := redisdb.Open(raw, redisdb.Config{})
	if err != nil {
		t.Error(err)
		return
	}
	defer client.Close()
	ctx := context.Background()
	keys := client.Scan(ctx, 0, "*"+prefix+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
			t.Error(err)
		}
	}
	if err := keys.Err(); err != nil {
		t.Error(err)
	}
}

// clearRabbit deletes an exchange and queues.
func clearRabbit(t *testing.T, raw, exchange string, queues ...string) {
	conn, err := amqp.Dial(raw)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err == nil {
		err = ch.ExchangeDelete(exchange, false, false)
	}
	for _, queue := range queues {
		if err == nil {
			_, err = ch.QueueDelete(queue, false, false, false)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

func clearSQS(t *testing.T, endpoint, prefix string) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := sqs.New(sqs.Options{
		BaseEndpoint: &endpoint, Region: "elasticmq", HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
	all, err := client.ListQueues(context.Background(), &sqs.ListQueuesInput{QueueNamePrefix: &prefix})
	if err != nil {
		t.Error(err)
		return
	}
	for _, queue := range all.QueueUrls {
		if _, err := client.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: &queue}); err != nil {
			t.Error(err)
		}
	}
}

// clearKafka deletes topics.
func clearKafka(t *testing.T, topics ...string) {
	admin, err := sarama.NewClusterAdmin(strings.Split(servicetest.Kafka(t), ","), sarama.NewConfig())
	if err != nil {
		t.Error(err)
		return
	}
	defer admin.Close()
	slices.Sort(topics)
	for _, topic := range slices.Compact(topics) {
		if err := admin.DeleteTopic(topic); err != nil {
			t.Error(err)
		}
	}
}
