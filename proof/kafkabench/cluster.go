package kafkabench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/proof/watermillkafka"
)

// partitions of each topic.
const partitions = 6

// cluster is the publishers into one Kafka.
type cluster struct {
	bus       *bus.Bus
	client    *kgo.Client
	admin     *kadm.Client
	watermill message.Publisher
	prefix    string
	topics    int
	closers   []func() error
}

func connect(ctx context.Context, cfg Config) (_ *cluster, err error) {
	c := &cluster{prefix: cfg.Prefix}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	quiet := kafkabus.Config{Logger: slog.New(slog.DiscardHandler)}
	url := "kafka://" + cfg.Brokers + "/"
	if c.bus, err = bus.Open(ctx, url, kafkabus.Scheme(quiet)); err != nil {
		return c, err
	}
	c.closers = append(c.closers, c.bus.Close)
	quiet.Options = producing()
	if c.client, err = kafkabus.Client(url, quiet); err != nil {
		return c, err
	}
	c.closers = append(c.closers, func() error { c.client.Close(); return nil })
	c.admin = kadm.NewClient(c.client)
	if c.watermill, err = watermillkafka.NewPublisher(strings.Split(cfg.Brokers, ","), watermillkafka.Config()); err != nil {
		return c, err
	}
	c.closers = append(c.closers, c.watermill.Close)
	return c, nil
}

func (c *cluster) close() error {
	errs := make([]error, 0, len(c.closers))
	for i := len(c.closers) - 1; i >= 0; i-- {
		errs = append(errs, c.closers[i]())
	}
	c.closers = nil
	return errors.Join(errs...)
}

// topic makes a topic. All publishers learn of it before they are measured: a program that
// publishes all day does not meet new topics.
func (c *cluster) topic(ctx context.Context) (string, error) {
	c.topics++
	name := fmt.Sprintf("%s-%d-%d", c.prefix, time.Now().UnixNano(), c.topics)
	if err := c.bus.Declare(ctx, bus.Topic{Name: name, Partitions: partitions}); err != nil {
		return "", err
	}
	hello := message.NewMessage("hello", []byte("hello"))
	return name, errors.Join(
		c.bus.Publisher().Publish(name, hello), c.watermill.Publish(name, hello),
		c.client.ProduceSync(ctx, &kgo.Record{Topic: name, Value: hello.Payload}).FirstErr())
}

// hellos are the messages by which the publishers learn of a topic.
const hellos = 3

// count is the number of messages in the topic, without the hellos.
func (c *cluster) count(ctx context.Context, topic string) (n int, err error) {
	ends, err := c.admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return 0, err
	}
	ends.Each(func(o kadm.ListedOffset) { n += int(o.Offset) })
	return n - hellos, ends.Error()
}

func (c *cluster) delete(topic string) error {
	c.client.PurgeTopicsFromProducing(topic)
	deleted, err := c.admin.DeleteTopics(context.Background(), topic)
	return errors.Join(err, deleted.Error())
}
