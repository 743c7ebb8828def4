package busbench

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/together"
)

// peer is a publisher and the subscribers of Watermill.
type peer struct {
	publisher  message.Publisher
	declare    func(ctx context.Context, topic string) error
	subscriber func() (message.Subscriber, error)
	close      func(topics []string) error
}

func (p peer) opened(cfg Config) *opened {
	var topics []string
	return &opened{
		publisher: p.publisher,
		topic: func(ctx context.Context) (string, error) {
			topic := unique(cfg)
			topics = append(topics, topic)
			return topic, p.declare(ctx, topic)
		},
		consume: func(ctx context.Context, topic string, handle func()) (func() error, error) {
			sub, err := p.subscriber()
			if err != nil {
				return nil, err
			}
			router, err := message.NewRouter(message.RouterConfig{CloseTimeout: 10 * time.Second}, watermill.NopLogger{})
			if err != nil {
				return nil, err
			}
			router.AddConsumerHandler("bench", topic, sub, func(*message.Message) error { handle(); return nil })
			stop := together.Background(ctx, router.Run)
			return func() error { return errors.Join(stop(), sub.Close()) }, nil
		},
		close: func() error { return errors.Join(p.publisher.Close(), p.close(topics)) },
	}
}

// initialized declares by the subscriber's own means.
func initialized(subscriber func() (message.Subscriber, error)) func(context.Context, string) error {
	return func(_ context.Context, topic string) error {
		sub, err := subscriber()
		if err != nil {
			return err
		}
		return errors.Join(sub.(message.SubscribeInitializer).SubscribeInitialize(topic), sub.Close())
	}
}

func watermillPostgres(ctx context.Context, cfg Config) (*opened, error) {
	return watermillSQL(ctx, cfg, place.Postgres, cfg.Postgres, wsql.DefaultPostgreSQLSchema{
		SubscribeBatchSize:  1000,
		GeneratePayloadType: func(string) string { return "BYTEA" },
	}, wsql.DefaultPostgreSQLOffsetsAdapter{})
}

func watermillMariaDB(ctx context.Context, cfg Config) (*opened, error) {
	return watermillSQL(ctx, cfg, place.MariaDB, cfg.MariaDB, place.NewWatermillMySQL(), wsql.DefaultMySQLOffsetsAdapter{})
}

// watermillSQL reads 1000 rows at a time and polls every 10 ms.
func watermillSQL(ctx context.Context, cfg Config, on func(server, name string) (place.Place, error), server string, schema wsql.SchemaAdapter, offsets wsql.OffsetsAdapter) (*opened, error) {
	p, err := on(server, cfg.Prefix+"_bus_peer")
	if err != nil {
		return nil, err
	}
	db, err := p.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	publisher, err := wsql.NewPublisher(db, wsql.PublisherConfig{SchemaAdapter: schema, AutoInitializeSchema: true}, watermill.NopLogger{})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	subscriber := func() (message.Subscriber, error) {
		return wsql.NewSubscriber(db, wsql.SubscriberConfig{
			ConsumerGroup: group, PollInterval: 10 * time.Millisecond,
			SchemaAdapter: schema, OffsetsAdapter: offsets, InitializeSchema: true,
		}, watermill.NopLogger{})
	}
	return peer{publisher, initialized(subscriber), subscriber, func([]string) error {
		return errors.Join(db.Close(), p.Drop(context.WithoutCancel(ctx)))
	}}.opened(cfg), nil
}

func watermillRedis(ctx context.Context, cfg Config) (*opened, error) {
	// Each closes its client.
	client := func() (redis.UniversalClient, error) { return redisdb.Open(cfg.Redis, redisdb.Config{}) }
	c, err := client()
	if err != nil {
		return nil, err
	}
	publisher, err := redisstream.NewPublisher(redisstream.PublisherConfig{Client: c}, watermill.NopLogger{})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	subscriber := func() (message.Subscriber, error) {
		c, err := client()
		if err != nil {
			return nil, err
		}
		return redisstream.NewSubscriber(redisstream.SubscriberConfig{Client: c, ConsumerGroup: group, OldestId: "0"}, watermill.NopLogger{})
	}
	nothing := func(context.Context, string) error { return nil } // a stream is made by its first message
	return peer{publisher, nothing, subscriber, func([]string) error {
		return place.SweepRedis(context.WithoutCancel(ctx), cfg.Redis, cfg.Prefix+"_")
	}}.opened(cfg), nil
}

// watermillAMQP waits for the broker's confirms and keeps messages in quorum
// queues, as ours does; it holds 512 unacknowledged messages, as one of our queues.
func watermillAMQP(_ context.Context, cfg Config) (*opened, error) {
	conf := amqp.NewDurablePubSubConfig(cfg.RabbitMQ, amqp.GenerateQueueNameTopicNameWithSuffix(group))
	conf.Queue.Arguments = amqp091.Table{"x-queue-type": "quorum"}
	conf.Publish.ConfirmDelivery = true
	conf.Publish.ChannelPoolSize = 64
	conf.Consume.Qos.PrefetchCount = 512
	publisher, err := amqp.NewPublisher(conf, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	subscriber := func() (message.Subscriber, error) { return amqp.NewSubscriber(conf, watermill.NopLogger{}) }
	return peer{publisher, initialized(subscriber), subscriber, func(topics []string) error {
		queues := make([]string, len(topics))
		for i, t := range topics {
			queues[i] = t + "_" + group
		}
		return place.SweepRabbitMQ(cfg.RabbitMQ, queues, topics)
	}}.opened(cfg), nil
}
