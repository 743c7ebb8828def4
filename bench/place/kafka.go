package place

import (
	"errors"
	"fmt"
	"strings"

	"github.com/IBM/sarama"
)

// SweepKafka deletes the topics and groups whose names begin with the prefix.
// Brokers are separated by commas.
func SweepKafka(brokers, prefix string) (err error) {
	conf := sarama.NewConfig()
	conf.Version = sarama.V3_2_0_0
	admin, err := sarama.NewClusterAdmin(strings.Split(brokers, ","), conf)
	if err != nil {
		return fmt.Errorf("connect to Kafka: %w", err)
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	groups, err := admin.ListConsumerGroups()
	if err != nil {
		return err
	}
	for g := range groups {
		if strings.HasPrefix(g, prefix) {
			err = errors.Join(err, admin.DeleteConsumerGroup(g))
		}
	}
	topics, e := admin.ListTopics()
	if e != nil {
		return errors.Join(err, e)
	}
	for t := range topics {
		if strings.HasPrefix(t, prefix) {
			err = errors.Join(err, admin.DeleteTopic(t))
		}
	}
	return err
}
