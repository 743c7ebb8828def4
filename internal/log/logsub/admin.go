package logsub

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

// Declare implements Declare of [driver.Driver].
func (d *Driver) Declare(ctx context.Context, topics ...bus.Topic) error {
	if err := d.Ready(ctx); err != nil {
		return err
	}
	for _, t := range topics {
		if err := d.hub.Declare(ctx, t); err != nil {
			return d.Translate(err)
		}
	}
	return nil
}

// Lag implements [driver.Lagger]. A partition's backlog is counted up to 10,000.
func (d *Driver) Lag(ctx context.Context) ([]bus.Lag, error) {
	if err := d.Ready(ctx); err != nil {
		return nil, err
	}
	all, err := d.hub.Lag(ctx)
	return all, d.Translate(err)
}

// HasTopic implements [driver.TopicFinder].
func (d *Driver) HasTopic(ctx context.Context, name string) (bool, error) {
	_, ok, err := d.Topic(ctx, name)
	return ok, err
}

// Topic returns a topic without making it; ok reports whether it exists.
func (d *Driver) Topic(ctx context.Context, name string) (t Topic, ok bool, err error) {
	if err := d.Ready(ctx); err != nil {
		return Topic{}, false, err
	}
	t, ok, err = d.hub.Topic(ctx, name)
	return t, ok, d.Translate(err)
}

// Topics implements [driver.TopicFinder].
func (d *Driver) Topics(ctx context.Context) ([]string, error) {
	if err := d.Ready(ctx); err != nil {
		return nil, err
	}
	names, err := d.hub.Topics(ctx)
	return names, d.Translate(err)
}

// Groups implements [driver.GroupAdmin].
func (d *Driver) Groups(ctx context.Context, topics ...string) ([]driver.Group, error) {
	if err := d.Ready(ctx); err != nil {
		return nil, err
	}
	all, err := d.hub.Groups(ctx, topics...)
	return all, d.Translate(err)
}

// ResetGroup implements [driver.GroupResetter]. It moves all partitions in one transaction where
// the backend has transactions. Elsewhere it moves each partition separately; after a crash in
// between, the same reset moves the rest.
func (d *Driver) ResetGroup(ctx context.Context, topic, group string, to bus.Place, dryRun bool) (driver.Moved, error) {
	if err := d.Ready(ctx); err != nil {
		return driver.Moved{}, err
	}
	moved, err := d.hub.Reset(ctx, topic, group, to, dryRun)
	return moved, d.Translate(err)
}

// DeleteGroup implements [driver.GroupAdmin].
func (d *Driver) DeleteGroup(ctx context.Context, topic, group string) error {
	if err := d.Ready(ctx); err != nil {
		return err
	}
	return d.Translate(d.hub.Delete(ctx, topic, group))
}

// Read implements [driver.Reader]. An error of fn is returned unchanged.
func (d *Driver) Read(ctx context.Context, topic string, from bus.Place, fn func(*message.Message) error) error {
	if err := d.Ready(ctx); err != nil {
		return err
	}
	var own error
	err := d.hub.Read(ctx, topic, from, func(m *message.Message) error {
		own = fn(m)
		return own
	})
	if own != nil {
		return own
	}
	return d.Translate(err)
}
