package kafkabus

import (
	"context"
	"slices"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
)

// browseBytes is how much one fetch for browsing asks for.
const browseBytes = 4 << 20

// Browse implements bus.Inspector: the newest messages of all partitions, by the
// millisecond in which they were published.
func (d *driver) Browse(ctx context.Context, topic string, limit int) ([]*message.Message, error) {
	found, err := d.browse(ctx, topic, limit, func(partitions []int32) ([]entry, error) {
		return d.newest(ctx, topic, partitions, limit)
	})
	return found, wrap(err, "browse %s", topic)
}

// Pending implements bus.Pender: what follows the group's offsets, by the
// millisecond in which it was published.
func (d *driver) Pending(ctx context.Context, topic, group string, limit int) ([]*message.Message, error) {
	found, err := d.browse(ctx, topic, limit, func(partitions []int32) ([]entry, error) {
		return d.oldest(ctx, topic, group, partitions, limit)
	})
	return found, wrap(err, "pending of group %s of %s", group, topic)
}

// browse looks at a topic; one that does not exist is empty.
func (d *driver) browse(ctx context.Context, topic string, limit int, look func(partitions []int32) ([]entry, error)) ([]*message.Message, error) {
	if limit <= 0 {
		return nil, nil
	}
	if err := checkTopic(topic); err != nil {
		return nil, err
	}
	have, err := d.topics.describe(ctx, topic)
	if err != nil || have == nil {
		return nil, err
	}
	result := make(chan []entry, 1)
	err = d.call(ctx, func() error {
		partitions, err := d.asking.Partitions(topic)
		if err != nil {
			return err
		}
		found, err := look(partitions)
		slices.SortStableFunc(found, func(a, b entry) int { return a.at.Compare(b.at) })
		result <- found
		return err
	})
	if err != nil {
		return nil, err
	}
	found := <-result
	out := make([]*message.Message, len(found))
	for i, e := range found {
		out[i] = e.message()
	}
	return out, nil
}

// newest returns the last entries of a topic.
func (d *driver) newest(ctx context.Context, topic string, partitions []int32, limit int) ([]entry, error) {
	oldest, end, err := d.bounds(ctx, topic, partitions)
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, p := range partitions {
		// Compaction and transactions leave holes, so this may be fewer.
		var found []entry
		for at := max(oldest[p], end[p]-int64(limit)); at < end[p]; {
			some, next, err := d.fetch(ctx, topic, p, at, browseBytes)
			if err != nil {
				return nil, err
			}
			if next == at {
				break // what follows is not readable yet
			}
			at, found = next, append(found, some...)
			found = found[max(0, len(found)-limit):]
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	return all[max(0, len(all)-limit):], nil
}

// oldest returns the first entries behind a group's offsets.
func (d *driver) oldest(ctx context.Context, topic, group string, partitions []int32, limit int) ([]entry, error) {
	oldest, end, err := d.bounds(ctx, topic, partitions)
	if err != nil {
		return nil, err
	}
	committed, err := d.committed(group, map[string][]int32{topic: partitions})
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, p := range partitions {
		var found []entry
		for at := max(oldest[p], committed[topic][p].offset); at < end[p] && len(found) < limit; {
			some, next, err := d.fetch(ctx, topic, p, at, browseBytes)
			if err != nil {
				return nil, err
			}
			if next == at {
				break // what follows is not readable yet
			}
			at, found = next, append(found, some...)
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	return all[:min(limit, len(all))], nil
}

// bounds returns the earliest offsets of partitions, and those behind the newest.
func (d *driver) bounds(ctx context.Context, topic string, partitions []int32) (oldest, end map[int32]int64, err error) {
	if oldest, err = d.offsets(ctx, topic, partitions, sarama.OffsetOldest); err != nil {
		return nil, nil, err
	}
	end, err = d.offsets(ctx, topic, partitions, sarama.OffsetNewest)
	return oldest, end, err
}
