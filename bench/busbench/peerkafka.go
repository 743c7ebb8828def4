package busbench

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bench/place"
	"github.com/millrace-go/millrace/bench/watermillkafka"
	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
)

// watermillKafka has the settings that kafkabus gives its own clients, and
// topics that kafkabus makes.
func watermillKafka(ctx context.Context, cfg Config) (*opened, error) {
	var conf sarama.Config
	var once sync.Once // Open makes settings, and every client of its own again
	bs, err := bus.NewOpener(kafkabus.Scheme(kafkabus.Config{
		Sarama: func(made *sarama.Config) { once.Do(func() { conf = *made }) },
	})).Open(ctx, "kafka://"+cfg.Brokers+"/")
	if err != nil {
		return nil, err
	}
	conf.Producer.Return.Successes = true
	brokers := strings.Split(cfg.Brokers, ",")
	publisher, err := watermillkafka.NewPublisher(brokers, &conf)
	if err != nil {
		return nil, errors.Join(err, bs.Close())
	}
	declare := func(ctx context.Context, topic string) error { return bs.Declare(ctx, bus.Topic{Name: topic}) }
	subscriber := func() (message.Subscriber, error) {
		return watermillkafka.NewSubscriber(brokers, cfg.Prefix+"_bus_"+group, &conf)
	}
	return peer{publisher, declare, subscriber, func([]string) error {
		return errors.Join(bs.Close(), place.SweepKafka(cfg.Brokers, cfg.Prefix+"_bus_"))
	}}.opened(cfg), nil
}
