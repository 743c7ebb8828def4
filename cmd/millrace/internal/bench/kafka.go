package bench

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/kafkabus"
)

// inKafka creates a topic on the brokers. The brokers refuse to create it twice, which
// detects two runs at once.
func (c Config) inKafka(ctx context.Context, rawURL string, u *url.URL) (*place, error) {
	what := "the topic " + c.Name
	by := "kafka-topics.sh --delete --topic " + c.Name + ", and kafka-consumer-groups.sh --delete --group " + c.Name
	// The settings of the URL include the number of copies of a topic.
	set := driver.NewParams(u)
	copies := int16(set.Int("replication", 1, 1))
	err := c.askKafka(rawURL, func(admin *kadm.Client) error {
		groups, err := admin.ListGroups(ctx)
		if err != nil {
			return err
		}
		if _, there := groups[c.Name]; there {
			return taken("the consumer group "+c.Name, by)
		}
		_, err = admin.CreateTopic(ctx, lanes, copies, nil, c.Name)
		if errors.Is(err, kerr.TopicAlreadyExists) {
			return taken(what, by)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &place{url: rawURL, what: what, remove: func(ctx context.Context) error {
		return c.askKafka(rawURL, func(admin *kadm.Client) error {
			return errors.Join(dropGroup(ctx, admin, c.Name), dropTopic(ctx, admin, c.Name))
		})
	}}, nil
}

// again is how often to check whether a broker knows the changes of another.
const again = 200 * time.Millisecond

// dropGroup deletes a group once the brokers know that its member has left.
func dropGroup(ctx context.Context, admin *kadm.Client, group string) error {
	return until(ctx, func() (bool, error) {
		_, err := admin.DeleteGroup(ctx, group)
		switch {
		case err == nil, errors.Is(err, kerr.GroupIDNotFound): // no member has consumed yet
			return true, nil
		case errors.Is(err, kerr.NonEmptyGroup):
			return false, nil
		}
		return false, err
	})
}

// dropTopic deletes a topic, and waits until the brokers have done so: otherwise the next
// run would find it.
func dropTopic(ctx context.Context, admin *kadm.Client, topic string) error {
	if _, err := admin.DeleteTopic(ctx, topic); err != nil {
		return err
	}
	return until(ctx, func() (bool, error) {
		topics, err := admin.ListTopics(ctx)
		return !topics.Has(topic), err
	})
}

// until calls so at once and then repeatedly until it is true.
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
func (c Config) askKafka(rawURL string, do func(*kadm.Client) error) error {
	client, err := kafkabus.Client(rawURL, kafkabus.Config{ClientID: "millrace-bench", Logger: c.Logger})
	if err != nil {
		return err
	}
	defer client.Close()
	return do(kadm.NewClient(client))
}
