// Package transporttest gives a test names of its own on a real broker, as the URL of a
// transport. Objects under these names are removed with the test. Package servicetest documents
// the behaviour without a server.
package transporttest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/transporttest/snstest"
)

// Redis returns a redis:// URL with a prefix of keys.
func Redis(t testing.TB) string {
	t.Helper()
	return prefixed(t, servicetest.Redis(t))
}

// RedisCluster is [Redis] for a Redis Cluster.
func RedisCluster(t testing.TB) string {
	t.Helper()
	return prefixed(t, "redis://"+servicetest.RedisCluster(t)+"/")
}

func prefixed(t testing.TB, raw string) string {
	t.Helper()
	prefix := "t" + uuid.NewString() + ":"
	t.Cleanup(func() { report(t, clearRedis(raw, prefix)) })
	return with(raw, url.Values{"prefix": {prefix}})
}

// Kafka returns a kafka:// URL. The topics whose names begin with one of topics, which are the
// test's own, are deleted at its end.
func Kafka(t testing.TB, topics ...string) string {
	t.Helper()
	brokers := servicetest.Kafka(t)
	t.Cleanup(func() { report(t, clearKafka(brokers, topics)) })
	return "kafka://" + brokers + "/"
}

// RabbitMQ returns an amqp:// URL with an exchange. The exchange and the queues are deleted at
// the end of the test.
func RabbitMQ(t testing.TB, queues ...string) string {
	t.Helper()
	raw, exchange := servicetest.RabbitMQ(t), "test-"+uuid.NewString()
	t.Cleanup(func() { report(t, clearRabbit(raw, exchange, queues)) })
	return with(raw, url.Values{"exchange": {exchange}})
}

// SQS returns a sqs:// URL with a prefix of queues.
func SQS(t testing.TB) string {
	t.Helper()
	return queues(t, "sqs", servicetest.SQS(t))
}

// SNS returns a sns:// URL with a prefix of topics and queues. SNS is a stand-in, see package
// snstest; the queues are on the server of [SQS].
func SNS(t testing.TB) string {
	t.Helper()
	_, endpoint := snstest.Start(t, servicetest.SQS(t))
	return queues(t, "sns", endpoint)
}

func queues(t testing.TB, scheme, endpoint string) string {
	t.Helper()
	prefix := "t" + uuid.NewString()[:8] + "-"
	t.Cleanup(func() { report(t, clearSQS(endpoint, prefix)) })
	return with(scheme+"://key:secret@elasticmq/", url.Values{"endpoint": {endpoint}, "prefix": {prefix}, "wait": {"50ms"}})
}

// with adds parameters to a URL.
func with(raw string, more url.Values) string {
	if strings.Contains(raw, "?") {
		return raw + "&" + more.Encode()
	}
	return raw + "?" + more.Encode()
}

func report(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("clear the test's place: %v", err)
	}
}

func clearRedis(raw, prefix string) error {
	client, err := redisdb.Open(raw, redisdb.Config{})
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // a test's side connection
	sweep := func(ctx context.Context, node redis.UniversalClient) error {
		keys := node.Scan(ctx, 0, "*"+prefix+"*", 1000).Iterator()
		for keys.Next(ctx) {
			if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
				return err
			}
		}
		return keys.Err()
	}
	ctx := context.Background()
	if cluster, ok := client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return sweep(ctx, node) })
	}
	return sweep(ctx, client)
}

func clearKafka(brokers string, names []string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(brokers, ",")...))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	topics, err := admin.ListTopics(context.Background())
	if err != nil {
		return err
	}
	mine := slices.DeleteFunc(topics.Names(), func(topic string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(topic, name) })
	})
	deleted, err := admin.DeleteTopics(context.Background(), mine...)
	return errors.Join(err, deleted.Error())
}

func clearRabbit(raw, exchange string, queues []string) error {
	conn, err := amqp.Dial(raw)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // a test's side connection
	ch, err := conn.Channel()
	if err == nil {
		err = ch.ExchangeDelete(exchange, false, false)
	}
	for _, queue := range queues {
		if err == nil {
			_, err = ch.QueueDelete(queue, false, false, false)
		}
	}
	return err
}

func clearSQS(endpoint, prefix string) error {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := sqs.New(sqs.Options{
		BaseEndpoint: &endpoint, Region: "elasticmq", HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
	all, err := client.ListQueues(context.Background(), &sqs.ListQueuesInput{QueueNamePrefix: &prefix})
	if err != nil {
		return err
	}
	for _, queue := range all.QueueUrls {
		if _, err := client.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: &queue}); err != nil {
			return err
		}
	}
	return nil
}
