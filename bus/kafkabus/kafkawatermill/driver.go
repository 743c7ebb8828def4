package kafkawatermill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	wmkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/bus/watermillbus"
	"github.com/millrace-go/millrace/fault"
)

// driver publishes and consumes with Watermill's adapter. The native transport creates
// topics and lists topics and messages, which are the same for both.
type driver struct {
	watermillbus.Driver
	shows
}

// shows is the native transport's features beside publishing and consuming.
type shows interface {
	busdriver.Lagger
	busdriver.TopicFinder
	busdriver.Inspector
	busdriver.Pender
}

func newDriver(native busdriver.Driver, u *url.URL, to address, settings kafkabus.Config, cfg Config) (*driver, error) {
	producer, consumer := publishing(to), consuming(to, settings)
	if cfg.Sarama != nil {
		cfg.Sarama(producer)
		cfg.Sarama(consumer)
	}
	if err := errors.Join(producer.Validate(), consumer.Validate()); err != nil {
		return nil, fmt.Errorf("Config.Sarama: %w", err)
	}
	marshaler := cmp.Or(cfg.Marshaler, wire())
	topics := &topics{native: native, make: busdriver.NewParams(u).Bool("autocreate", true)}
	ping := native.(busdriver.Pinger).Ping
	logger := watermill.NewSlogLoggerWithLevelMapping(settings.Logger, map[slog.Level]slog.Level{slog.LevelInfo: slog.LevelDebug})
	d, err := watermillbus.New(watermillbus.Config{
		Publisher: func(ctx context.Context) (message.Publisher, error) {
			// Sarama leaks a client when brokers are absent, or refuse the password.
			if err := ping(ctx); err != nil {
				return nil, err
			}
			p, err := wmkafka.NewPublisher(wmkafka.PublisherConfig{Brokers: to.brokers, Marshaler: permanent{marshaler}, OverwriteSaramaConfig: producer}, logger)
			if err != nil {
				return nil, err
			}
			return &publisher{next: p, topics: topics}, nil
		},
		Subscriber: func(_ context.Context, group string) (message.Subscriber, error) {
			s, err := wmkafka.NewSubscriber(wmkafka.SubscriberConfig{
				Brokers: to.brokers, Unmarshaler: marshaler, OverwriteSaramaConfig: consumer, ConsumerGroup: group,
			}, logger)
			if err != nil {
				return nil, err
			}
			return &subscriber{Subscriber: s, topics: topics, group: group}, nil
		},
		Capabilities: busdriver.Capabilities{
			Durable: true, OrderedPerKey: true, ConsumerGroups: true, Replay: true, Broadcast: true, OneAtATime: true,
		},
		Declare:  func(ctx context.Context, t bus.Topic) error { return native.Declare(ctx, t) },
		Ping:     ping,
		Classify: classify,
		Close:    native.Close,
	})
	if err != nil {
		return nil, err
	}
	return &driver{d, native.(shows)}, nil
}

// classify marks errors that another attempt cannot change.
func classify(err error) fault.Class {
	for _, e := range []error{sarama.ErrMessageSizeTooLarge, sarama.ErrInvalidMessage, sarama.ErrInvalidTopic, sarama.ErrInvalidRecord} {
		if errors.Is(err, e) {
			return fault.Permanent
		}
	}
	return fault.Unclassified
}
