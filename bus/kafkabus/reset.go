package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
)

// Groups implements driver.GroupAdmin: every group of the cluster that has offsets of the
// topics. Positions are offsets; -1 is a partition without an offset of the group.
func (d *driver) Groups(ctx context.Context, topics ...string) ([]busdriver.Group, error) {
	all, err := d.listed(ctx)
	if err != nil {
		return nil, wrap(err, "groups")
	}
	done, err := d.committedAll(ctx, all.Groups())
	if err != nil {
		return nil, wrap(err, "groups")
	}
	of := map[string][]string{}
	for group, on := range done {
		for topic := range on {
			if len(topics) == 0 || slices.Contains(topics, strings.TrimPrefix(topic, d.set.prefix)) {
				of[group] = append(of[group], topic)
			}
		}
	}
	out, err := d.behind(ctx, of, done, true)
	for i := range out {
		out[i].Live = live(all[d.set.prefix+out[i].Group])
	}
	return out, wrap(err, "groups")
}

// listed asks the brokers for all groups, of either protocol, and their states.
func (d *driver) listed(ctx context.Context) (kadm.ListedGroups, error) {
	return request(ctx, d, func(ctx context.Context) (kadm.ListedGroups, error) { return d.admin.ListGroups(ctx) })
}

// errLive states the coordinator's condition: no members at all.
var errLive = fmt.Errorf("%w; Kafka changes a group only while it has no consumers on any topic", bus.ErrGroupLive)

// live reports whether a group has members. An old broker does not report the state of a
// group; the coordinator refuses to change one that has members in any case.
func live(g kadm.ListedGroup) bool { return g.State != "" && g.State != "Empty" && g.State != "Dead" }

// group returns the commits of a group on a topic. A group without members and offsets does
// not exist.
func (d *driver) group(ctx context.Context, topic, group string) (map[int32]commit, error) {
	all, err := d.listed(ctx)
	if err != nil {
		return nil, err
	}
	found, ok := all[group]
	if !ok {
		return nil, bus.ErrNoGroup
	}
	committed, err := d.committed(ctx, group)
	switch {
	case err != nil:
		return nil, err
	case committed[topic] == nil:
		return nil, bus.ErrNoGroup
	case live(found):
		return committed[topic], errLive
	}
	return committed[topic], nil
}

// ResetGroup implements driver.GroupResetter. It commits all offsets in one request, without
// notes: messages finished behind the old offsets are forgotten. The coordinator accepts
// them only while the group has no members.
func (d *driver) ResetGroup(ctx context.Context, topic, group string, to bus.Place, dryRun bool) (busdriver.Moved, error) {
	moved, err := d.reset(ctx, d.set.prefix+topic, d.set.prefix+group, to, dryRun)
	return moved, refusal(err, "reset group")
}

func (d *driver) reset(ctx context.Context, topic, group string, to bus.Place, dryRun bool) (moved busdriver.Moved, err error) {
	done, err := d.group(ctx, topic, group)
	if err != nil && !(dryRun && errors.Is(err, bus.ErrGroupLive)) {
		return moved, err
	}
	start, end, err := d.bounds(ctx, d.admin.ListEndOffsets, topic)
	if err != nil {
		return moved, err
	}
	at, err := d.find(ctx, topic, to, start, end)
	if err != nil {
		return moved, err
	}
	offsets := kadm.Offsets{}
	for p, offset := range at {
		was := done[p].from(start[p].Offset, end[p].Offset)
		if to.OnlyBack && offset >= was {
			continue
		}
		offsets.AddOffset(topic, p, offset, -1)
		moved.Again += max(0, was-offset)
		moved.Skipped += max(0, offset-was)
	}
	if dryRun || len(offsets) == 0 {
		return moved, nil
	}
	_, err = request(ctx, d, func(ctx context.Context) (none struct{}, err error) {
		answer, err := d.admin.CommitOffsets(ctx, group, offsets)
		if err != nil {
			return none, err
		}
		return none, answer.Error()
	})
	return moved, err
}

// find returns the offsets of a place by partition, without the partitions it leaves out.
func (d *driver) find(ctx context.Context, topic string, p bus.Place, start, end map[int32]kadm.ListedOffset) (map[int32]int64, error) {
	at := map[int32]int64{}
	switch {
	case p.Positions != nil:
		for n, offset := range p.Positions {
			partition := int32(n)
			last, ok := end[partition]
			if !ok || n != int(partition) {
				return nil, fmt.Errorf("Place.Positions names partition %d; %s has the partitions 0 to %d", n, topic, len(end)-1)
			}
			at[partition] = min(max(offset, start[partition].Offset), last.Offset)
		}
		return at, nil
	case !p.Since.IsZero():
		since, err := request(ctx, d, func(ctx context.Context) (kadm.ListedOffsets, error) {
			return complete(d.admin.ListOffsetsAfterMilli(ctx, p.Since.UnixMilli(), topic))
		})
		if err != nil {
			return nil, err
		}
		start = since[topic]
	case p.Latest:
		start = end
	}
	for partition, of := range start {
		at[partition] = of.Offset
	}
	return at, nil
}

// DeleteGroup implements driver.GroupAdmin: it removes the group's offsets of the topic, and
// the group with its last topic.
func (d *driver) DeleteGroup(ctx context.Context, topic, group string) error {
	return refusal(d.remove(ctx, d.set.prefix+topic, d.set.prefix+group), "delete group")
}

func (d *driver) remove(ctx context.Context, topic, group string) error {
	done, err := d.group(ctx, topic, group)
	if err != nil {
		return err
	}
	committed, err := d.committed(ctx, group)
	if err != nil {
		return err
	}
	_, err = request(ctx, d, func(ctx context.Context) (none struct{}, err error) {
		if len(committed) == 1 {
			_, err = d.admin.DeleteGroup(ctx, group)
			return none, err
		}
		var set kadm.TopicsSet
		set.Add(topic, slices.Collect(maps.Keys(done))...)
		answer, err := d.admin.DeleteOffsets(ctx, group, set)
		if err != nil {
			return none, err
		}
		return none, answer.Error()
	})
	if err != nil {
		return err
	}
	d.groups.Delete(groupID{topic, group})
	return nil
}

// refusal is the error of a change that a coordinator refuses while a group has members.
func refusal(err error, format string, args ...any) error {
	if isKerror(err, kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.StaleMemberEpoch, kerr.RebalanceInProgress, kerr.NonEmptyGroup, kerr.GroupSubscribedToTopic) {
		err = fmt.Errorf("%w (%w)", errLive, err)
	}
	return wrap(err, format, args...)
}

// Read implements driver.Reader: the committed messages.
func (d *driver) Read(ctx context.Context, topic string, from bus.Place, fn func(*message.Message) error) error {
	topic = d.set.prefix + topic
	start, end, err := d.extent(ctx, topic)
	if err != nil || start == nil {
		return wrap(err, "read %s", topic)
	}
	begin, err := d.find(ctx, topic, from, start, end)
	if err != nil {
		return wrap(err, "read %s", topic)
	}
	for _, p := range slices.Sorted(maps.Keys(begin)) {
		for r, err := range d.records(ctx, span{topic, p, begin[p], end[p].Offset}) {
			if err != nil {
				return wrap(err, "read %s", topic)
			}
			if err := fn(messageOf(r).Watermill()); err != nil {
				return err
			}
		}
	}
	return nil
}
