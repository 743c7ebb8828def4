package kafkabus

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
)

// Lag implements driver.Lagger. It reports the groups that this process declared or
// subscribed, on those topics; with ?lag=all, every group of the cluster on every topic
// that it has offsets of, if both have the prefix.
func (d *driver) Lag(ctx context.Context) ([]bus.Lag, error) {
	groups, err := d.asked(ctx)
	if err != nil {
		return nil, wrap(err, "lag")
	}
	done, err := d.committedAll(ctx, slices.Collect(maps.Keys(groups)))
	if err != nil {
		return nil, wrap(err, "lag")
	}
	if d.set.allGroups {
		for group := range groups {
			groups[group] = slices.Collect(maps.Keys(done[group]))
		}
	}
	all, err := d.behind(ctx, groups, done, d.set.allGroups)
	out := make([]bus.Lag, len(all))
	for i, g := range all {
		out[i] = g.Lag
	}
	return out, wrap(err, "lag")
}

// behind returns the groups' positions on their topics, from their commits; with known,
// only for partitions that they have offsets of. Groups and topics of other environments are
// left out; the others are named without the prefix.
func (d *driver) behind(ctx context.Context, groups map[string][]string, done map[string]commits, known bool) (out []busdriver.Group, err error) {
	names := map[string]struct{}{} // of topics
	for group, topics := range groups {
		for _, topic := range topics {
			if !strings.HasPrefix(topic, d.set.prefix) || !strings.HasPrefix(group, d.set.prefix) {
				continue
			}
			out = append(out, busdriver.Group{Lag: bus.Lag{Topic: topic, Group: group}})
			names[topic] = struct{}{}
		}
	}
	if len(names) == 0 { // which would ask for all topics
		return nil, nil
	}
	there, err := d.existing(ctx, slices.Collect(maps.Keys(names))...)
	if err != nil || len(there) == 0 {
		return nil, err
	}
	start, err := d.offsets(ctx, d.admin.ListStartOffsets, there...)
	if err != nil {
		return nil, err
	}
	end, err := d.offsets(ctx, d.admin.ListEndOffsets, there...)
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(l busdriver.Group) bool { return start[l.Topic] == nil || end[l.Topic] == nil })
	for i := range out {
		l := &out[i]
		l.Positions = slices.Repeat([]int64{-1}, len(end[l.Topic]))
		for p, last := range end[l.Topic] {
			at, ok := done[l.Group][l.Topic][p]
			if ok && int(p) < len(l.Positions) {
				l.Positions[p] = at.offset
			}
			if !ok && known {
				continue // the group may read some partitions only
			}
			from := at.from(start[l.Topic][p].Offset, last.Offset)
			if from >= last.Offset {
				continue
			}
			first, published, err := d.first(ctx, l.Topic, p, from, last.Offset)
			if err != nil {
				return nil, err
			}
			l.Messages += int(last.Offset - first)
			if !published.IsZero() && (l.Oldest.IsZero() || published.Before(l.Oldest)) {
				l.Oldest = published
			}
		}
		l.Topic, l.Group = strings.TrimPrefix(l.Topic, d.set.prefix), strings.TrimPrefix(l.Group, d.set.prefix)
	}
	return out, nil
}

// offsets lists offsets of topics, without topics that are being deleted.
func (d *driver) offsets(ctx context.Context, by lister, topics ...string) (kadm.ListedOffsets, error) {
	return request(ctx, d, func(ctx context.Context) (kadm.ListedOffsets, error) {
		all, err := by(ctx, topics...)
		maps.DeleteFunc(all, func(_ string, of map[int32]kadm.ListedOffset) bool {
			_, gone := of[-1] // kadm's mark of a topic that does not exist
			return gone
		})
		return complete(all, err)
	})
}

// asked returns the groups to look at, each with its topics; for all groups, without topics.
func (d *driver) asked(ctx context.Context) (map[string][]string, error) {
	groups := map[string][]string{}
	if d.set.allGroups {
		all, err := d.listed(ctx)
		for group := range all {
			groups[group] = nil
		}
		return groups, err
	}
	for known := range d.groups.Range {
		of := known.(groupID)
		groups[of.group] = append(groups[of.group], of.topic)
	}
	return groups, nil
}

// markerBytes is how much first requests when a first small batch held no message.
const markerBytes = 64 << 10

// first returns the offset of the first message of a partition between two offsets, and
// when it was published. Transaction markers and aborted messages before that message are
// skipped, as far as three small fetches show them: the rest of a partition may consist of them.
func (d *driver) first(ctx context.Context, topic string, partition int32, from, to int64) (int64, time.Time, error) {
	for _, bytes := range []int32{1, markerBytes, markerBytes} {
		some, err := d.fetch(ctx, topic, partition, from, bytes)
		switch {
		case err != nil:
			return 0, time.Time{}, err
		case len(some.records) > 0:
			return min(some.records[0].Offset, to), some.records[0].Timestamp, nil
		case some.next >= to:
			return to, time.Time{}, nil
		case some.next == from: // of a transaction that is open
			return from, time.Time{}, nil
		}
		from = some.next
	}
	return from, time.Time{}, nil
}
