package kafkabus

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/fault"
)

// topics creates topics and knows which exist.
type topics struct {
	d     *driver
	known sync.Map // names
}

var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

func checkTopic(name string) error {
	if !topicName.MatchString(name) || name == "." || name == ".." {
		return fault.MarkPermanent(fmt.Errorf("topic %q has a name that Kafka does not take; use up to 249 of a-z, A-Z, 0-9, . _ -", name))
	}
	return nil
}

var prefixName = regexp.MustCompile(`^[a-zA-Z0-9._-]{0,64}$`)

func checkPrefix(prefix string) error {
	if !prefixName.MatchString(prefix) || internal(prefix) {
		return fmt.Errorf("parameter \"prefix\" is %.80q; use up to 64 of a-z, A-Z, 0-9, . _ -, such as staging., and not __ at its beginning", prefix)
	}
	return nil
}

// ensure creates a topic that is used before it is declared, if the URL allows that.
func (t *topics) ensure(ctx context.Context, name string) error {
	if _, ok := t.known.Load(name); ok {
		return nil
	}
	if t.d.set.autocreate {
		return t.declare(ctx, bus.Topic{Name: name})
	}
	if err := checkTopic(name); err != nil {
		return err
	}
	have, err := t.describe(ctx, name)
	switch {
	case err != nil:
		return err
	case have == nil:
		return fmt.Errorf("topic %s does not exist, and autocreate=false: declare it, or create it with kafka-topics --create --topic %s", name, name)
	}
	t.known.Store(name, nil)
	return nil
}

// forget makes the next use look the topic up, and create it, again.
func (t *topics) forget(name string) { t.known.Delete(name) }

// declare creates a topic, or checks an existing one.
func (t *topics) declare(ctx context.Context, want bus.Topic) error {
	if err := checkTopic(want.Name); err != nil {
		return err
	}
	have, err := t.describe(ctx, want.Name)
	if err == nil && have == nil {
		// Another process may create it at the same moment.
		if err = t.create(ctx, want); err == nil || isKerror(err, kerr.TopicAlreadyExists) {
			have, err = t.await(ctx, want.Name)
		}
	}
	if err != nil {
		return err
	}
	if n := len(have.Partitions); want.Partitions != 0 && n != want.Partitions {
		return fmt.Errorf("%w: %s has %d partitions, not %d; another number would send a key to another partition and break its order, "+
			"so declare %d, or make a new topic", errTopic, want.Name, n, want.Partitions, n)
	}
	if err := t.retain(ctx, want); err != nil {
		return err
	}
	t.known.Store(want.Name, nil)
	return nil
}

// describe returns nil for a topic that does not exist.
func (t *topics) describe(ctx context.Context, name string) (*kmsg.MetadataResponseTopic, error) {
	return request(ctx, t.d, func(ctx context.Context) (*kmsg.MetadataResponseTopic, error) {
		// kadm would answer from its cache, which may date from before create.
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
		answer, err := req.RequestWith(ctx, t.d.client)
		switch {
		case err != nil:
			return nil, err
		case len(answer.Topics) != 1:
			return nil, fmt.Errorf("the cluster described %d topics for %s", len(answer.Topics), name)
		}
		found := &answer.Topics[0]
		switch err := kerr.ErrorForCode(found.ErrorCode); {
		case err == nil, isKerror(err, kerr.LeaderNotAvailable): // the latter for a topic that is being created
			return found, nil
		case isKerror(err, kerr.UnknownTopicOrPartition):
			return nil, nil
		default:
			return nil, err
		}
	})
}

func (t *topics) create(ctx context.Context, want bus.Topic) error {
	partitions := cmp.Or(want.Partitions, t.d.set.Partitions)
	replication := cmp.Or(want.Replication, t.d.set.Replication)
	retention := cmp.Or(want.Retention, t.d.set.Retention)
	config := map[string]*string{}
	if retention > 0 {
		config["retention.ms"] = new(strconv.FormatInt(retention.Milliseconds(), 10))
	}
	if replication >= 3 {
		config["min.insync.replicas"] = new("2")
	}
	_, err := request(ctx, t.d, func(ctx context.Context) (answer kadm.CreateTopicResponse, err error) {
		cluster, err := t.d.admin.BrokerMetadata(ctx)
		if err != nil {
			return answer, err
		}
		if n := len(cluster.Brokers); replication > n {
			return answer, fmt.Errorf("%w: %s needs %d brokers for %d copies, and the cluster has %d; lower the replication",
				errTopic, want.Name, replication, replication, n)
		}
		answer, err = t.d.admin.CreateTopic(ctx, int32(partitions), int16(replication), config, want.Name)
		if err != nil && answer.ErrMessage != "" {
			err = fmt.Errorf("%w (%s)", err, answer.ErrMessage)
		}
		return answer, err
	})
	return err
}

// await waits until every partition of a new topic has a leader.
func (t *topics) await(ctx context.Context, name string) (*kmsg.MetadataResponseTopic, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	wait := kit.Backoff{Initial: 5 * time.Millisecond, Max: 250 * time.Millisecond}
	for attempt := 1; ; attempt++ {
		have, err := t.describe(ctx, name)
		if err != nil {
			return nil, err
		}
		if have != nil && led(have) {
			return have, nil
		}
		if err := kit.Sleep(ctx, wait.Delay(attempt)); err != nil {
			return nil, fmt.Errorf("topic %s was made, but its partitions have no leader yet: %w", name, err)
		}
	}
}

func led(t *kmsg.MetadataResponseTopic) bool {
	return len(t.Partitions) > 0 && !slices.ContainsFunc(t.Partitions, func(p kmsg.MetadataResponseTopicPartition) bool {
		return p.Leader < 0 || p.ErrorCode != 0
	})
}

// retain sets the retention of an existing topic that has another.
func (t *topics) retain(ctx context.Context, want bus.Topic) error {
	if want.Retention == 0 {
		return nil
	}
	value := strconv.FormatInt(want.Retention.Milliseconds(), 10)
	_, err := request(ctx, t.d, func(ctx context.Context) (none struct{}, err error) {
		all, err := t.d.admin.DescribeTopicConfigs(ctx, want.Name)
		if err != nil {
			return none, err
		}
		have, err := all.On(want.Name, nil)
		if err = cmp.Or(err, have.Err); err != nil {
			return none, err
		}
		if slices.ContainsFunc(have.Configs, func(c kadm.Config) bool { return c.Key == "retention.ms" && c.MaybeValue() == value }) {
			return none, nil
		}
		changed, err := t.d.admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "retention.ms", Value: &value}}, want.Name)
		if err != nil {
			return none, err
		}
		answer, err := changed.On(want.Name, nil)
		return none, cmp.Or(err, answer.Err)
	})
	return err
}

// HasTopic implements driver.TopicFinder.
func (d *driver) HasTopic(ctx context.Context, name string) (bool, error) {
	name = d.set.prefix + name
	if internal(name) || checkTopic(name) != nil {
		return false, nil
	}
	found, err := d.topics.describe(ctx, name)
	return found != nil, wrap(err, "topic %s", name)
}

// Topics implements driver.TopicFinder. It leaves out the brokers' internal topics, and those
// without the prefix.
func (d *driver) Topics(ctx context.Context) (names []string, err error) {
	all, err := d.existing(ctx)
	for _, topic := range all {
		if name, ok := strings.CutPrefix(topic, d.set.prefix); ok && !internal(topic) {
			names = append(names, name)
		}
	}
	return names, wrap(err, "topics")
}

// existing returns the given topics that exist; without names, all topics. They are sorted.
func (d *driver) existing(ctx context.Context, names ...string) ([]string, error) {
	return request(ctx, d, func(ctx context.Context) ([]string, error) {
		all, err := d.admin.ListTopics(ctx, names...)
		return slices.DeleteFunc(all.Names(), func(t string) bool { return !all.Has(t) }), err
	})
}

func internal(topic string) bool { return strings.HasPrefix(topic, "__") }
