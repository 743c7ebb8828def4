package place

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// sweepTimeout is how long sweeping waits for a cluster.
const sweepTimeout = 30 * time.Second

// SweepKafka deletes the topics and groups whose names begin with the prefix.
// Brokers are separated by commas.
func SweepKafka(brokers, prefix string) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(brokers, ",")...))
	if err != nil {
		return fmt.Errorf("connect to Kafka: %w", err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	others := func(name string) bool { return !strings.HasPrefix(name, prefix) }
	groups, err := admin.ListGroups(ctx)
	if err != nil {
		return err
	}
	gone, err := admin.DeleteGroups(ctx, slices.DeleteFunc(groups.Groups(), others)...)
	err = errors.Join(err, gone.Error())
	topics, failed := admin.ListTopics(ctx)
	if failed != nil {
		return errors.Join(err, failed)
	}
	deleted, failed := admin.DeleteTopics(ctx, slices.DeleteFunc(topics.Names(), others)...)
	return errors.Join(err, failed, deleted.Error())
}
