package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
)

var (
	// ErrNoGroup is returned by ResetGroup and DeleteGroup when the topic has no such group.
	// They do not create it; [Bus.Declare] does.
	ErrNoGroup = errors.New("bus: the topic has no such group")
	// ErrGroupLive is returned by ResetGroup and DeleteGroup when the group has members.
	ErrGroupLive = errors.New("bus: the group has live members; stop its consumers on this topic, and try again")
)

// Place is a position at which reading begins in a topic: Latest, Since a time, or Positions. The
// zero Place is before the earliest retained message.
type Place = driver.Place

// checked returns the place as drivers expect it: some transports store times in milliseconds.
func checked(p Place) (Place, error) {
	p.Since = p.Since.Truncate(time.Millisecond)
	set := 0
	for _, is := range []bool{p.Latest, !p.Since.IsZero(), p.Positions != nil} {
		if is {
			set++
		}
	}
	if set > 1 {
		return p, errors.New("Place has more than one of Latest, Since and Positions; set one, or none for the earliest message")
	}
	if p.Positions != nil && len(p.Positions) == 0 {
		return p, errors.New("Place.Positions names no partition; give a position for at least one, or leave Positions nil")
	}
	for partition, at := range p.Positions {
		if partition < 0 || at < 0 {
			return p, fmt.Errorf("Place.Positions has position %d of partition %d; neither is negative", at, partition)
		}
	}
	return p, nil
}

// Groups lists the consumer groups of the topics, or of all topics, with their lag, by topic and
// name. On RabbitMQ they are those that this process declared or subscribed. The error is
// errors.ErrUnsupported where the transport cannot list groups.
func (b *Bus) Groups(ctx context.Context, topics ...string) ([]driver.Group, error) {
	a, err := able[driver.GroupAdmin](b, "groups")
	if err != nil {
		return nil, err
	}
	all, err := a.Groups(ctx, topics...)
	slices.SortFunc(all, func(a, b driver.Group) int { return byGroup(a.Lag, b.Lag) })
	return all, err
}

// ResetGroup moves a group to a place, so that it gets messages again, or skips some. It fails
// with [ErrGroupLive] while the group has members, with [ErrNoGroup] when the group does not
// exist, and with errors.ErrUnsupported where the transport cannot reset groups. With dryRun it
// changes nothing, and also answers for a group that has members.
func (b *Bus) ResetGroup(ctx context.Context, topic, group string, to Place, dryRun bool) (driver.Moved, error) {
	r, err := able[driver.GroupResetter](b, "reset group")
	if err == nil {
		err = checkGroup("reset group", topic, group)
	}
	if err != nil {
		return driver.Moved{}, err
	}
	if to, err = checked(to); err != nil {
		return driver.Moved{}, fmt.Errorf("bus: reset group: %w", err)
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
	a, err := able[driver.GroupAdmin](b, "delete group")
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
	r, err := able[driver.Reader](b, "read")
	if err != nil {
		return err
	}
	if from, err = checked(from); err != nil {
		return fmt.Errorf("bus: read: %w", err)
	}
	return r.Read(ctx, topic, from, fn)
}

// able returns the driver as an optional interface. It fails if the transport does not support
// the operation, or the bus is closed.
func able[T any](b *Bus, what string) (T, error) {
	t, ok := b.driver.(T)
	switch {
	case !ok:
		return t, fmt.Errorf("bus: %s: %s: %w", what, b.name, errors.ErrUnsupported)
	case b.isClosed():
		return t, ErrClosed
	}
	return t, nil
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
