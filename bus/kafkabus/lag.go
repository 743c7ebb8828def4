package kafkabus

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/IBM/sarama"

	"github.com/millrace-go/millrace/bus"
)

// Lag implements bus.Lagger. It reports the groups that this process declared
// or subscribed, on the topics it did so for; with ?lag=all, every group of the
// cluster on every topic it has offsets of.
func (d *driver) Lag(ctx context.Context) ([]bus.Lag, error) {
	result := make(chan []bus.Lag, 1)
	err := d.call(ctx, func() error {
		all, err := d.lag(ctx)
		result <- all
		return err
	})
	if err != nil {
		return nil, wrap(err, "lag")
	}
	return <-result, nil
}

func (d *driver) lag(ctx context.Context) ([]bus.Lag, error) {
	groups, err := d.asked()
	if err != nil {
		return nil, err
	}
	var out []bus.Lag
	ends := map[string]map[int32]int64{}
	starts := map[string]map[int32]int64{}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		committed, err := d.committed(group, groups[group])
		if err != nil {
			return nil, err
		}
		for _, topic := range slices.Sorted(maps.Keys(committed)) {
			partitions := slices.Sorted(maps.Keys(committed[topic]))
			if ends[topic] == nil {
				if starts[topic], ends[topic], err = d.bounds(ctx, topic, partitions); err != nil {
					return nil, err
				}
			}
			l := bus.Lag{Topic: topic, Group: group}
			for _, p := range partitions {
				// Without an offset it begins at the earliest message, as it
				// does when retention has overtaken it.
				at := max(committed[topic][p].offset, starts[topic][p])
				behind := ends[topic][p] - at
				if behind <= 0 {
					continue
				}
				l.Messages += int(behind)
				first, err := d.publishedAt(ctx, topic, p, at)
				if err != nil {
					return nil, err
				}
				if !first.IsZero() && (l.Oldest.IsZero() || first.Before(l.Oldest)) {
					l.Oldest = first
				}
			}
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b bus.Lag) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return strings.Compare(a.Group, b.Group)
	})
	return out, nil
}

// asked returns the partitions to look at for each group; nil for all that a
// group has offsets of.
func (d *driver) asked() (map[string]map[string][]int32, error) {
	groups := map[string]map[string][]int32{}
	if d.set.allGroups {
		all, err := d.admin.ListConsumerGroups()
		if err != nil {
			return nil, err
		}
		for group := range all {
			groups[group] = nil
		}
		return groups, nil
	}
	d.mu.Lock()
	known := map[string][]string{}
	for topic, of := range d.groups {
		known[topic] = slices.Collect(maps.Keys(of))
	}
	d.mu.Unlock()
	for topic, of := range known {
		partitions, err := d.asking.Partitions(topic)
		if isKerror(err, sarama.ErrUnknownTopicOrPartition) {
			continue // it was deleted
		}
		if err != nil {
			return nil, err
		}
		for _, group := range of {
			if groups[group] == nil {
				groups[group] = map[string][]int32{}
			}
			groups[group][topic] = partitions
		}
	}
	return groups, nil
}

// publishedAt returns when the first record from an offset on was published;
// zero when there is none, as behind a hole.
func (d *driver) publishedAt(ctx context.Context, topic string, partition int32, from int64) (time.Time, error) {
	found, _, err := d.fetch(ctx, topic, partition, from, 1)
	if err != nil || len(found) == 0 {
		return time.Time{}, err
	}
	return found[0].at, nil
}

// HasTopic implements bus.TopicFinder.
func (d *driver) HasTopic(ctx context.Context, name string) (bool, error) {
	all, err := d.Topics(ctx)
	return slices.Contains(all, name), err
}

// Topics implements bus.TopicFinder. It leaves out what the brokers keep for themselves.
func (d *driver) Topics(ctx context.Context) ([]string, error) {
	result := make(chan []string, 1)
	err := d.call(ctx, func() error {
		// asking has the metadata of the whole cluster; without names all of it is read.
		if err := d.asking.RefreshMetadata(); err != nil {
			return err
		}
		all, err := d.asking.Topics()
		result <- all
		return err
	})
	if err != nil {
		return nil, wrap(err, "topics")
	}
	all := slices.DeleteFunc(<-result, func(t string) bool { return strings.HasPrefix(t, "__") })
	slices.Sort(all)
	return all, nil
}
