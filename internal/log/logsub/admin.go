package logsub

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

// Admin makes topics, lists topics and lags, and implements [driver.GroupAdmin],
// [driver.GroupResetter] and [driver.Reader] for the driver that embeds it. A reset moves all
// partitions in one transaction where the backend has transactions. Elsewhere it moves each
// partition separately; after a crash in between, the same reset moves the rest.
type Admin struct {
	hub       *Hub
	ready     func(context.Context) error // the driver's preparation before its first use
	translate func(error) error           // maps the hub's errors to the driver's
}

var (
	_ driver.Lagger        = Admin{}
	_ driver.TopicFinder   = Admin{}
	_ driver.GroupAdmin    = Admin{}
	_ driver.GroupResetter = Admin{}
	_ driver.Reader        = Admin{}
)

// NewAdmin makes the Admin of a driver.
func NewAdmin(h *Hub, ready func(context.Context) error, translate func(error) error) Admin {
	return Admin{h, ready, translate}
}

// Declare implements Declare of [driver.Driver].
func (a Admin) Declare(ctx context.Context, topics ...bus.Topic) error {
	if err := a.ready(ctx); err != nil {
		return err
	}
	for _, t := range topics {
		if err := a.hub.Declare(ctx, t); err != nil {
			return a.translate(err)
		}
	}
	return nil
}

// Lag implements [driver.Lagger]. A partition's backlog is counted up to 10,000.
func (a Admin) Lag(ctx context.Context) ([]bus.Lag, error) {
	if err := a.ready(ctx); err != nil {
		return nil, err
	}
	all, err := a.hub.Lag(ctx)
	return all, a.translate(err)
}

// HasTopic implements [driver.TopicFinder].
func (a Admin) HasTopic(ctx context.Context, name string) (bool, error) {
	_, ok, err := a.Topic(ctx, name)
	return ok, err
}

// Topic returns a topic without making it; ok reports whether it exists.
func (a Admin) Topic(ctx context.Context, name string) (t Topic, ok bool, err error) {
	if err := a.ready(ctx); err != nil {
		return Topic{}, false, err
	}
	t, ok, err = a.hub.Topic(ctx, name)
	return t, ok, a.translate(err)
}

// Topics implements [driver.TopicFinder].
func (a Admin) Topics(ctx context.Context) ([]string, error) {
	if err := a.ready(ctx); err != nil {
		return nil, err
	}
	names, err := a.hub.Topics(ctx)
	return names, a.translate(err)
}

// Groups implements [driver.GroupAdmin].
func (a Admin) Groups(ctx context.Context, topics ...string) ([]driver.Group, error) {
	if err := a.ready(ctx); err != nil {
		return nil, err
	}
	all, err := a.hub.Groups(ctx, topics...)
	return all, a.translate(err)
}

// ResetGroup implements [driver.GroupResetter].
func (a Admin) ResetGroup(ctx context.Context, topic, group string, to bus.Place, dryRun bool) (driver.Moved, error) {
	if err := a.ready(ctx); err != nil {
		return driver.Moved{}, err
	}
	moved, err := a.hub.Reset(ctx, topic, group, to, dryRun)
	return moved, a.translate(err)
}

// DeleteGroup implements [driver.GroupAdmin].
func (a Admin) DeleteGroup(ctx context.Context, topic, group string) error {
	if err := a.ready(ctx); err != nil {
		return err
	}
	return a.translate(a.hub.Delete(ctx, topic, group))
}

// Read implements [driver.Reader]. An error of fn is returned unchanged.
func (a Admin) Read(ctx context.Context, topic string, from bus.Place, fn func(*message.Message) error) error {
	if err := a.ready(ctx); err != nil {
		return err
	}
	var own error
	err := a.hub.Read(ctx, topic, from, func(m *message.Message) error {
		own = fn(m)
		return own
	})
	if own != nil {
		return own
	}
	return a.translate(err)
}
