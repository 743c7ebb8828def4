package kafkabench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bench/watermillkafka"
	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
)

// partitions of each topic.
const partitions = 6

// cluster is what publishes into one Kafka, all with the same configuration.
type cluster struct {
	bus       *bus.Bus
	client    sarama.Client
	admin     sarama.ClusterAdmin
	flat      sarama.AsyncProducer
	watermill message.Publisher
	prefix    string
	topics    int
	closers   []io.Closer
}

func connect(ctx context.Context, cfg Config) (_ *cluster, err error) {
	c := &cluster{prefix: cfg.Prefix}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	conf := watermillkafka.Config()
	o := bus.NewOpener(kafkabus.Scheme(kafkabus.Config{Logger: slog.New(slog.DiscardHandler)}))
	if c.bus, err = o.Open(ctx, "kafka://"+cfg.Brokers+"/"); err != nil {
		return c, err
	}
	c.closers = append(c.closers, c.bus)
	conf.Metadata.Full = true
	brokers := strings.Split(cfg.Brokers, ",")
	if c.client, err = sarama.NewClient(brokers, conf); err != nil {
		return c, fmt.Errorf("connect to Kafka: %w", err)
	}
	c.closers = append(c.closers, c.client)
	if c.admin, err = sarama.NewClusterAdminFromClient(c.client); err != nil {
		return c, err
	}
	if c.flat, err = sarama.NewAsyncProducer(brokers, conf); err != nil {
		return c, err
	}
	c.closers = append(c.closers, c.flat)
	if c.watermill, err = watermillkafka.NewPublisher(brokers, conf); err != nil {
		return c, err
	}
	c.closers = append(c.closers, c.watermill)
	return c, nil
}

func (c *cluster) close() error {
	errs := make([]error, 0, len(c.closers))
	for i := len(c.closers) - 1; i >= 0; i-- {
		errs = append(errs, c.closers[i].Close())
	}
	c.closers = nil
	return errors.Join(errs...)
}

// topic makes a topic. All publishers learn of it before they are measured.
func (c *cluster) topic(ctx context.Context) (string, error) {
	c.topics++
	name := fmt.Sprintf("%s-%d-%d", c.prefix, time.Now().UnixNano(), c.topics)
	if err := c.bus.Declare(ctx, bus.Topic{Name: name, Partitions: partitions}); err != nil {
		return "", err
	}
	return name, nil
}

// count is how many messages the topic has.
func (c *cluster) count(topic string) (int, error) {
	if err := c.client.RefreshMetadata(topic); err != nil {
		return 0, err
	}
	n := int64(0)
	for p := range int32(partitions) {
		offset, err := c.client.GetOffset(topic, p, sarama.OffsetNewest)
		if err != nil {
			return 0, err
		}
		n += offset
	}
	return int(n), nil
}

func (c *cluster) delete(topic string) error { return c.admin.DeleteTopic(topic) }
