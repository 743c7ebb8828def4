package busbench

import (
	"context"
	"errors"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/watermillkafka"
)

// watermillKafka has settings with the same promises as kafkabus, and topics that
// kafkabus makes.
func watermillKafka(ctx context.Context, cfg Config) (*opened, error) {
	conf := watermillkafka.Config()
	bs, err := bus.Open(ctx, "kafka://"+cfg.Brokers+"/", kafkabus.Scheme(kafkabus.Config{}))
	if err != nil {
		return nil, err
	}
	brokers := strings.Split(cfg.Brokers, ",")
	publisher, err := watermillkafka.NewPublisher(brokers, conf)
	if err != nil {
		return nil, errors.Join(err, bs.Close())
	}
	declare := func(ctx context.Context, topic string) error { return bs.Declare(ctx, bus.Topic{Name: topic}) }
	subscriber := func() (message.Subscriber, error) {
		return watermillkafka.NewSubscriber(brokers, cfg.Prefix+"_bus_"+group, conf)
	}
	return peer{publisher, declare, subscriber, func([]string) error {
		return errors.Join(bs.Close(), place.SweepKafka(cfg.Brokers, cfg.Prefix+"_bus_"))
	}}.opened(cfg), nil
}
