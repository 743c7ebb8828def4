package bench

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/IBM/sarama"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
)

// inKafka makes a topic on the brokers. The brokers refuse to make one twice,
// which tells of two runs at once.
func (c Config) inKafka(rawURL string, u *url.URL) func(context.Context) (*place, error) {
	return func(ctx context.Context) (*place, error) {
		what := "the topic " + c.Name
		by := "kafka-topics.sh --delete --topic " + c.Name + ", and kafka-consumer-groups.sh --delete --group " + c.Name
		// The settings of the URL also say with how many copies topics are made.
		set := bus.NewParams(u)
		copies := int16(set.Int("replication", 1, 1))
		err := c.askKafka(ctx, rawURL, u, func(admin sarama.ClusterAdmin) error {
			groups, err := admin.ListConsumerGroups()
			if err != nil {
				return err
			}
			if _, there := groups[c.Name]; there {
				return taken("the consumer group "+c.Name, by)
			}
			err = admin.CreateTopic(c.Name, &sarama.TopicDetail{NumPartitions: lanes, ReplicationFactor: copies}, false)
			if errors.Is(err, sarama.ErrTopicAlreadyExists) {
				return taken(what, by)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		return &place{url: rawURL, what: what, remove: func(ctx context.Context) error {
			return c.askKafka(ctx, rawURL, u, func(admin sarama.ClusterAdmin) error {
				return errors.Join(dropGroup(ctx, admin, c.Name), dropTopic(ctx, admin, c.Name))
			})
		}}, nil
	}
}

// again is how often brokers are asked whether they know what another one did.
const again = 200 * time.Millisecond

// dropGroup deletes a group once the brokers know that its member has left.
func dropGroup(ctx context.Context, admin sarama.ClusterAdmin, group string) error {
	return until(ctx, func() (bool, error) {
		err := admin.DeleteConsumerGroup(group)
		switch {
		case err == nil, errors.Is(err, sarama.ErrGroupIDNotFound): // nobody has consumed yet
			return true, nil
		case errors.Is(err, sarama.ErrNonEmptyGroup):
			return false, nil
		}
		return false, err
	})
}

// dropTopic deletes a topic, and waits until the brokers have done so: the next
// run would find it.
func dropTopic(ctx context.Context, admin sarama.ClusterAdmin, topic string) error {
	if err := admin.DeleteTopic(topic); err != nil {
		return err
	}
	return until(ctx, func() (bool, error) {
		topics, err := admin.ListTopics()
		_, there := topics[topic]
		return !there, err
	})
}

// until asks now and again until it is so.
func until(ctx context.Context, so func() (bool, error)) error {
	tick := time.NewTicker(again)
	defer tick.Stop()
	for {
		done, err := so()
		if done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// askKafka calls do with an administrative client, signed in as the transport does.
func (c Config) askKafka(ctx context.Context, rawURL string, u *url.URL, do func(sarama.ClusterAdmin) error) (err error) {
	var settings *sarama.Config
	b, err := bus.NewOpener(kafkabus.Scheme(kafkabus.Config{
		ClientID: "millrace-bench", Logger: c.Logger,
		Sarama: func(s *sarama.Config) { settings = s },
	})).Open(ctx, rawURL)
	if err != nil {
		return err
	}
	if err := b.Close(); err != nil {
		return err
	}
	var addresses []string
	for host := range strings.SplitSeq(u.Host, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "9092")
		}
		addresses = append(addresses, host)
	}
	asking := *settings
	asking.Metadata.Full = true // administrative calls need to find the controller
	admin, err := sarama.NewClusterAdmin(addresses, &asking)
	if err != nil {
		return err
	}
	return errors.Join(do(admin), admin.Close())
}
