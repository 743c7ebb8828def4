package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

var (
	// ErrNoGroup is returned by ResetGroup and DeleteGroup when the topic has no such group.
	// They do not create it; [Bus.Declare] does.
	ErrNoGroup = errors.New("bus: the topic has no such group")
	// ErrGroupLive is returned by ResetGroup and DeleteGroup when the group has members.
	ErrGroupLive = errors.New("bus: the group has live members; stop its consumers on this topic, and try again")
)

// Group is a consumer group of a topic.
type Group struct {
	Lag
	// Positions has the position of each partition: the position of the first message that the
	// group has not acknowledged, in the transport's numbers (offsets on Kafka, row numbers in
	// SQL, milliseconds × 2^20 + n on Redis). An unknown position is -1; for a transport without
	// positions, Positions is nil.
	Positions []int64
	// Live reports whether the group has members. A crashed member counts until its lease or
	// session ends.
	Live bool
}

// Place is a position at which reading begins in a topic. The zero Place is before the earliest
// retained message; set at most one of Latest, Since and Positions.
type Place struct {
	// Latest is behind the newest message.
	Latest bool
	// Since is before the first message of each partition that was published at this time or
	// later, to the millisecond, by the transport's clock.
	Since time.Time
	// Positions is before the first message at or behind the position of each partition.
	// Partitions that are left out keep their position.
	Positions map[int]int64
	// OnlyBack applies to a reset: partitions whose position is before the place keep it, so
	// that nothing is skipped.
	OnlyBack bool
}

// checked returns the place as drivers expect it: some transports store times in milliseconds.
func (p Place) checked() (Place, error) {
	p.Since = p.Since.Truncate(time.Millisecond)
	return p, p.validate()
}

func (p Place) validate() error {
	set := 0
	for _, is := range []bool{p.Latest, !p.Since.IsZero(), p.Positions != nil} {
		if is {
			set++
		}
	}
	if set > 1 {
		return errors.New("Place has more than one of Latest, Since and Positions; set one, or none for the earliest message")
	}
	if p.Positions != nil && len(p.Positions) == 0 {
		return errors.New("Place.Positions names no partition; give a position for at least one, or leave Positions nil")
	}
	for partition, at := range p.Positions {
		if partition < 0 || at < 0 {
			return fmt.Errorf("Place.Positions has position %d of partition %d; neither is negative", at, partition)
		}
	}
	return nil
}

// Moved is the effect of a reset on the group. It is counted while the group does not move:
// messages published meanwhile may be included, and messages acknowledged behind the old
// position may be missing. Kafka counts offsets, also those of transaction markers.
type Moved struct {
	Again   int64 // messages before the group's old position that the group gets again
	Skipped int64 // messages behind the old position that the group does not get
}

// GroupAdmin is implemented by drivers whose groups can be listed and deleted.
type GroupAdmin interface {
	// Groups lists the groups of the topics, or of all topics when none is named. Where the transport cannot list them, Groups returns those that this process knows.
	Groups(ctx context.Context, topics ...string) ([]Group, error)
	// DeleteGroup removes a group that has no members from a topic.
	DeleteGroup(ctx context.Context, topic, group string) error
}

// GroupResetter is implemented by drivers whose groups can get messages again.
type GroupResetter interface {
	// ResetGroup moves a group that has no members, and deletes everything else that the
	// transport stores for the group: acknowledgements behind its position, counts of crashes. A
	// member that starts meanwhile gets the group before or after the reset, never between. With
	// dryRun it changes nothing.
	ResetGroup(ctx context.Context, topic, group string, to Place, dryRun bool) (Moved, error)
}

// Reader is implemented by drivers that can read a topic's retained messages from a place.
type Reader interface {
	// Read calls fn for each message from the place to the present end, partition by partition,
	// in the order of each. It consumes nothing. If fn returns an error, Read stops.
	Read(ctx context.Context, topic string, from Place, fn func(*message.Message) error) error
}

// Groups lists the consumer groups of the topics, or of all topics, with their lag, by topic and
// name. On RabbitMQ they are those that this process declared or subscribed. The error is
// errors.ErrUnsupported where the transport cannot list groups.
func (b *Bus) Groups(ctx context.Context, topics ...string) ([]Group, error) {
	a, ok := b.driver.(GroupAdmin)
	if err := b.can("groups", ok); err != nil {
		return nil, err
	}
	all, err := a.Groups(ctx, topics...)
	slices.SortFunc(all, func(a, b Group) int { return a.compare(b.Lag) })
	return all, err
}

// ResetGroup moves a group to a place, so that it gets messages again, or skips some. It fails
// with [ErrGroupLive] while the group has members, with [ErrNoGroup] when the group does not
// exist, and with errors.ErrUnsupported where the transport cannot reset groups. With dryRun it
// changes nothing, and also answers for a group that has members.
func (b *Bus) ResetGroup(ctx context.Context, topic, group string, to Place, dryRun bool) (Moved, error) {
	r, ok := b.driver.(GroupResetter)
	err := b.can("reset group", ok)
	if err == nil {
		err = checkGroup("reset group", topic, group)
	}
	if err != nil {
		return Moved{}, err
	}
	if to, err = to.checked(); err != nil {
		return Moved{}, fmt.Errorf("bus: reset group: %w", err)
	}
	moved, err := r.ResetGroup(ctx, topic, group, to, dryRun)
	if err != nil {
		return moved, fmt.Errorf("bus: reset group %s of %s: %w", group, topic, err)
	}
	return moved, nil
}

// DeleteGroup removes a group from a topic with everything that the transport stores for it. A
// later consumer of that name creates the group again. It fails as [Bus.ResetGroup] does.
func (b *Bus) DeleteGroup(ctx context.Context, topic, group string) error {
	a, ok := b.driver.(GroupAdmin)
	err := b.can("delete group", ok)
	if err == nil {
		err = checkGroup("delete group", topic, group)
	}
	if err != nil {
		return err
	}
	if err := a.DeleteGroup(ctx, topic, group); err != nil {
		return fmt.Errorf("bus: delete group %s of %s: %w", group, topic, err)
	}
	return nil
}

// Read calls fn for the retained messages of a topic from a place to the present end, partition
// by partition, in the order of each, without consuming them. If fn returns an error, Read stops
// and returns it. The error is errors.ErrUnsupported where the transport cannot read.
func (b *Bus) Read(ctx context.Context, topic string, from Place, fn func(*message.Message) error) error {
	r, ok := b.driver.(Reader)
	if err := b.can("read", ok); err != nil {
		return err
	}
	from, err := from.checked()
	if err != nil {
		return fmt.Errorf("bus: read: %w", err)
	}
	return r.Read(ctx, topic, from, fn)
}

// can returns the error of an operation that the transport does not support, or of a closed bus.
func (b *Bus) can(what string, ok bool) error {
	if !ok {
		return fmt.Errorf("bus: %s: %s: %w", what, b.name, errors.ErrUnsupported)
	}
	if b.isClosed() {
		return ErrClosed
	}
	return nil
}

func checkGroup(what, topic, group string) error {
	switch {
	case topic == "":
		return fmt.Errorf("bus: %s: topic is empty; name the topic", what)
	case group == "":
		return fmt.Errorf("bus: %s: group is empty; name the consumer group", what)
	}
	return nil
}
