package kafkabus

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/backoff"
)

// topics makes topics and knows which exist.
type topics struct {
	d *driver

	mu    sync.Mutex
	known map[string]struct{}
}

func newTopics(d *driver) *topics { return &topics{d: d, known: map[string]struct{}{}} }

var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

func checkTopic(name string) error {
	if !topicName.MatchString(name) || name == "." || name == ".." {
		return fault.MarkPermanent(fmt.Errorf("topic %q has a name that Kafka does not take; use up to 249 of a-z, A-Z, 0-9, . _ -", name))
	}
	return nil
}

// ensure makes a topic that is used before it is declared.
func (t *topics) ensure(ctx context.Context, name string) error {
	t.mu.Lock()
	_, ok := t.known[name]
	t.mu.Unlock()
	if ok {
		return nil
	}
	return t.declare(ctx, bus.Topic{Name: name})
}

// forget lets the topic be looked up, and made, again.
func (t *topics) forget(name string) {
	t.mu.Lock()
	delete(t.known, name)
	t.mu.Unlock()
}

// declare makes a topic, or checks the one that is there.
func (t *topics) declare(ctx context.Context, want bus.Topic) error {
	if err := checkTopic(want.Name); err != nil {
		return err
	}
	have, err := t.describe(ctx, want.Name)
	if err == nil && have == nil {
		if err = t.create(ctx, want); err == nil {
			have, err = t.await(ctx, want.Name)
		} else if isKerror(err, sarama.ErrTopicAlreadyExists) { // just now, by somebody else
			have, err = t.await(ctx, want.Name)
		}
	}
	if err != nil {
		return err
	}
	if n := len(have.Partitions); want.Partitions != 0 && n != want.Partitions {
		return fmt.Errorf("%w: %s has %d partitions, not %d; another number would send a key to another partition and break its order, "+
			"so declare %d, or make a new topic", ErrTopic, want.Name, n, want.Partitions, n)
	}
	if err := untilKnown(ctx, func() error { return t.retain(ctx, want) }); err != nil {
		return err
	}
	t.mu.Lock()
	t.known[want.Name] = struct{}{}
	t.mu.Unlock()
	return nil
}

// untilKnown repeats a request about a topic that exists: the brokers of a
// cluster hear of a new one, and of its leaders, one after the other, and the
// coordinator of a group loads what it knows when it starts.
func untilKnown(ctx context.Context, request func() error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	wait := backoff.Policy{Initial: 5 * time.Millisecond, Max: 250 * time.Millisecond}
	for attempt := 1; ; attempt++ {
		err := request()
		if !isKerror(err, sarama.ErrUnknownTopicOrPartition, sarama.ErrLeaderNotAvailable, sarama.ErrNotLeaderForPartition,
			sarama.ErrOffsetsLoadInProgress, sarama.ErrConsumerCoordinatorNotAvailable, sarama.ErrNotCoordinatorForConsumer) {
			return err
		}
		if backoff.Sleep(ctx, wait.Delay(attempt)) != nil {
			return err
		}
	}
}

// describe returns nil for a topic that does not exist.
func (t *topics) describe(ctx context.Context, name string) (*sarama.TopicMetadata, error) {
	var all []*sarama.TopicMetadata
	err := t.d.call(ctx, func() (err error) {
		all, err = t.d.admin.DescribeTopics([]string{name})
		return err
	})
	switch {
	case isKerror(err, sarama.ErrUnknownTopicOrPartition):
		return nil, nil
	case err != nil:
		return nil, err
	case len(all) != 1:
		return nil, fmt.Errorf("the cluster described %d topics for %s", len(all), name)
	}
	switch all[0].Err {
	case sarama.ErrNoError, sarama.ErrLeaderNotAvailable: // the latter of one that is coming up
		return all[0], nil
	case sarama.ErrUnknownTopicOrPartition:
		return nil, nil
	}
	return nil, all[0].Err
}

func (t *topics) create(ctx context.Context, want bus.Topic) error {
	partitions, replication, retention := want.Partitions, want.Replication, want.Retention
	if partitions == 0 {
		partitions = t.d.set.Partitions
	}
	if replication == 0 {
		replication = t.d.set.Replication
	}
	if retention == 0 {
		retention = t.d.set.Retention
	}
	detail := &sarama.TopicDetail{
		NumPartitions: int32(partitions), ReplicationFactor: int16(replication), ConfigEntries: map[string]*string{},
	}
	if retention > 0 {
		detail.ConfigEntries["retention.ms"] = new(strconv.FormatInt(retention.Milliseconds(), 10))
	}
	if replication >= 3 {
		detail.ConfigEntries["min.insync.replicas"] = new("2")
	}
	return t.d.call(ctx, func() error {
		brokers, _, err := t.d.admin.DescribeCluster()
		if err != nil {
			return err
		}
		if n := len(brokers); replication > n {
			return fmt.Errorf("%w: %s needs %d brokers for %d copies, and the cluster has %d; lower the replication",
				ErrTopic, want.Name, replication, replication, n)
		}
		return t.d.admin.CreateTopic(want.Name, detail, false)
	})
}

// await waits until every partition of a new topic has a leader.
func (t *topics) await(ctx context.Context, name string) (*sarama.TopicMetadata, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	wait := backoff.Policy{Initial: 5 * time.Millisecond, Max: 250 * time.Millisecond}
	for attempt := 1; ; attempt++ {
		have, err := t.describe(ctx, name)
		if err != nil {
			return nil, err
		}
		if have != nil && led(have) {
			return have, nil
		}
		if err := backoff.Sleep(ctx, wait.Delay(attempt)); err != nil {
			return nil, fmt.Errorf("topic %s was made, but its partitions have no leader yet: %w", name, err)
		}
	}
}

func led(t *sarama.TopicMetadata) bool {
	for _, p := range t.Partitions {
		if p.Leader < 0 || p.Err != sarama.ErrNoError {
			return false
		}
	}
	return len(t.Partitions) > 0
}

// retain sets the retention of a topic that is there with another.
func (t *topics) retain(ctx context.Context, want bus.Topic) error {
	if want.Retention == 0 {
		return nil
	}
	value := strconv.FormatInt(want.Retention.Milliseconds(), 10)
	return t.d.call(ctx, func() error {
		all, err := t.d.admin.DescribeConfigs([]*sarama.ConfigResource{
			{Type: sarama.TopicResource, Name: want.Name, ConfigNames: []string{"retention.ms"}},
		}, sarama.DescribeConfigsOptions{})
		if err != nil {
			return err
		}
		for _, resource := range all {
			if resource.ErrorCode != sarama.ErrNoError {
				return resource.ErrorCode
			}
			for _, entry := range resource.Configs {
				if entry.Name == "retention.ms" && entry.Value == value {
					return nil
				}
			}
		}
		return t.d.admin.IncrementalAlterConfig(sarama.TopicResource, want.Name, map[string]sarama.IncrementalAlterConfigsEntry{
			"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value},
		}, false)
	})
}

// Declare makes topics and groups. A topic that exists must have as many
// partitions as declared, if a number is; its retention is changed to what is
// declared, its replication is left alone. A group that has never consumed
// begins at the earliest message of that moment.
func (d *driver) Declare(ctx context.Context, topics ...bus.Topic) error {
	for _, t := range topics {
		if err := d.topics.declare(ctx, t); err != nil {
			return wrap(err, "declare %s", t.Name)
		}
		d.know(t.Name, t.Groups...)
		for _, group := range t.Groups {
			if err := untilKnown(ctx, func() error { return d.begin(ctx, t.Name, group) }); err != nil {
				return wrap(err, "declare group %s of %s", group, t.Name)
			}
		}
	}
	return nil
}

// begin commits the earliest offsets for a group where it has none.
func (d *driver) begin(ctx context.Context, topic, group string) error {
	return d.call(ctx, func() error {
		partitions, err := d.asking.Partitions(topic)
		if err != nil {
			return err
		}
		committed, err := d.committed(group, map[string][]int32{topic: partitions})
		if err != nil {
			return err
		}
		var missing []int32
		for _, p := range partitions {
			if at, ok := committed[topic][p]; !ok || at.offset < 0 {
				missing = append(missing, p)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		oldest, err := d.offsets(ctx, topic, missing, sarama.OffsetOldest)
		if err != nil {
			return err
		}
		begin := map[int32]sarama.OffsetAndMetadata{}
		for p, at := range oldest {
			begin[p] = sarama.OffsetAndMetadata{Offset: at, LeaderEpoch: -1}
		}
		answer, err := d.admin.AlterConsumerGroupOffsets(group, map[string]map[int32]sarama.OffsetAndMetadata{topic: begin}, nil)
		if err != nil {
			return err
		}
		for _, failed := range answer.Errors[topic] {
			switch failed {
			case sarama.ErrNoError:
			case sarama.ErrUnknownMemberId, sarama.ErrIllegalGeneration, sarama.ErrRebalanceInProgress:
				// Members are at work: they begin at the earliest message anyway.
			default:
				return failed
			}
		}
		return nil
	})
}

// commit is what a group has committed of a partition; the offset is -1 where it has not.
type commit struct {
	offset int64
	note   string // what we wrote beside it; see noteOf
}

// committed returns the commits of a group; of nil partitions, all that it has.
func (d *driver) committed(group string, partitions map[string][]int32) (map[string]map[int32]commit, error) {
	answer, err := d.admin.ListConsumerGroupOffsets(group, partitions)
	switch {
	case isKerror(err, sarama.ErrGroupIDNotFound): // some coordinators say so, others say -1
		answer = &sarama.OffsetFetchResponse{}
	case err != nil:
		return nil, err
	}
	out := map[string]map[int32]commit{}
	for topic, of := range partitions {
		out[topic] = map[int32]commit{}
		for _, p := range of {
			out[topic][p] = commit{offset: -1}
		}
	}
	for topic, blocks := range answer.Blocks {
		if out[topic] == nil {
			out[topic] = map[int32]commit{}
		}
		for p, block := range blocks {
			if block.Err != sarama.ErrNoError {
				return nil, fmt.Errorf("partition %d of %s: %w", p, topic, block.Err)
			}
			out[topic][p] = commit{block.Offset, block.Metadata}
		}
	}
	return out, nil
}
