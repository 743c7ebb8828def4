package kafkabus

import (
	"context"
	"maps"
	"slices"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"
)

// browseSteps is how often Browse extends its search past holes, to four times the distance
// each time.
const browseSteps = 6

// Browse implements driver.Inspector: the newest committed messages of all partitions, by the
// millisecond in which they were published. Compaction and aborted transactions leave
// holes; behind long holes Browse shows fewer messages.
func (d *driver) Browse(ctx context.Context, topic string, limit int) ([]*message.Message, error) {
	topic = d.set.prefix + topic
	found, err := d.browse(ctx, topic, limit, func(p span) ([]*kgo.Record, error) { return d.newest(ctx, p, limit) })
	return messages(found[max(0, len(found)-limit):]), wrap(err, "browse %s", topic)
}

// Pending implements driver.Pender: the committed messages that follow the group's offsets, by
// the millisecond in which they were published.
func (d *driver) Pending(ctx context.Context, topic, group string, limit int) ([]*message.Message, error) {
	topic, group = d.set.prefix+topic, d.set.prefix+group
	var done map[string]map[int32]commit
	found, err := d.browse(ctx, topic, limit, func(p span) (_ []*kgo.Record, err error) {
		if done == nil {
			if done, err = d.committed(ctx, group); err != nil {
				return nil, err
			}
		}
		p.from = max(p.from, done[topic][p.partition].offset)
		return d.oldest(ctx, p, limit)
	})
	return messages(found[:min(limit, len(found))]), wrap(err, "pending of group %s of %s", group, topic)
}

// browse looks at each partition of a topic, and returns the records found, sorted by time.
// A topic that does not exist is empty.
func (d *driver) browse(ctx context.Context, topic string, limit int, look func(span) ([]*kgo.Record, error)) ([]*kgo.Record, error) {
	if limit <= 0 {
		return nil, nil
	}
	start, end, err := d.extent(ctx, topic)
	if err != nil {
		return nil, err
	}
	var all []*kgo.Record
	for _, p := range slices.Sorted(maps.Keys(start)) {
		found, err := look(span{topic, p, start[p].Offset, end[p].Offset})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b *kgo.Record) int { return a.Timestamp.Compare(b.Timestamp) })
	return all, nil
}

// newest returns the last records of a span.
func (d *driver) newest(ctx context.Context, s span, limit int) (all []*kgo.Record, err error) {
	width := int64(limit)
	for range browseSteps {
		if len(all) >= limit || s.to <= s.from {
			break
		}
		part := s
		part.from = max(s.from, s.to-width)
		var found []*kgo.Record
		for r, err := range d.records(ctx, part) {
			if err != nil {
				return nil, err
			}
			found = append(found, r)
			found = found[max(0, len(found)+len(all)-limit):]
		}
		all, s.to, width = append(found, all...), part.from, 4*width
	}
	return all, nil
}

// oldest returns the first records of a span.
func (d *driver) oldest(ctx context.Context, s span, limit int) (all []*kgo.Record, err error) {
	for r, err := range d.records(ctx, s) {
		if err != nil {
			return nil, err
		}
		if all = append(all, r); len(all) == limit {
			break
		}
	}
	return all, nil
}

func messages(records []*kgo.Record) []*message.Message {
	var all []*message.Message
	for _, r := range records {
		all = append(all, messageOf(r).Watermill())
	}
	return all
}
