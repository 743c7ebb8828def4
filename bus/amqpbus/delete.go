package amqpbus

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
)

// Groups implements driver.GroupAdmin for the groups that [driver.Lag] knows: AMQP cannot list
// queues. A queue has no positions.
func (d *driver) Groups(ctx context.Context, topics ...string) ([]busdriver.Group, error) {
	lags, err := d.Lag(ctx)
	if err != nil {
		return nil, err
	}
	lags = slices.DeleteFunc(lags, func(l bus.Lag) bool { return len(topics) > 0 && !slices.Contains(topics, l.Topic) })
	all, err := within(ctx, func() ([]busdriver.Group, error) { return d.living(ctx, lags) })
	return all, translate("groups", err)
}

// living returns those of the groups that exist.
func (d *driver) living(ctx context.Context, lags []bus.Lag) (all []busdriver.Group, err error) {
	a := &admin{ctx: ctx, link: d.consuming}
	defer a.close()
	for _, lag := range lags {
		g, err := d.topology.find(a, lag.Topic, lag.Group)
		if errors.Is(err, bus.ErrNoGroup) {
			continue // deleted elsewhere
		}
		if err != nil {
			return nil, err
		}
		live, err := g.live(a)
		if err != nil {
			return nil, err
		}
		all = append(all, busdriver.Group{Lag: lag, Live: live})
	}
	return all, nil
}

// DeleteGroup implements driver.GroupAdmin: it deletes the group's queues, with the messages
// in them. The broker cannot refuse this for a consumer that starts at the same moment;
// such a consumer is cancelled, and creates its queue again.
func (d *driver) DeleteGroup(ctx context.Context, topic, group string) error {
	_, err := within(ctx, func() (none struct{}, err error) {
		a := &admin{ctx: ctx, link: d.consuming}
		defer a.close()
		return none, d.topology.remove(a, topic, group)
	})
	return translate("delete group", err)
}

// find returns the queues of an existing group; it creates nothing.
func (t *topology) find(a *admin, topic, name string) (*group, error) {
	if err := checkTopic(topic); err != nil {
		return nil, err
	}
	g, err := t.existing(a, topic, name)
	if err == nil && len(g.queues) == 0 {
		err = bus.ErrNoGroup
	}
	return g, err
}

// live reports whether a queue of the group has a consumer, or an instance waits for one.
func (g *group) live(a *admin) (bool, error) {
	for _, q := range append(slices.Clone(g.queues), members(g.base)) {
		if info, exists, err := a.inspect(q); err != nil || exists && info.Consumers > 0 {
			return true, err
		}
	}
	return false, nil
}

// remove deletes a group's queues, the last one first: the group exists until the first
// queue is deleted, so that an interrupted deletion can be repeated.
func (t *topology) remove(a *admin, topic, name string) error {
	t.declaring.Lock()
	defer t.declaring.Unlock()
	g, err := t.find(a, topic, name)
	if err != nil {
		return err
	}
	live, err := g.live(a)
	if err == nil && live {
		err = bus.ErrGroupLive
	}
	if err != nil {
		return err
	}
	for _, q := range slices.Backward(g.queues) {
		ch, err := a.channel()
		if err != nil {
			return err
		}
		if _, err := ch.QueueDelete(q, false, false, false); err != nil {
			return fmt.Errorf("queue %s: %w", q, err)
		}
	}
	t.groups.Delete(groupID{topic, name})
	return nil
}
