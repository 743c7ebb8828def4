package membus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

// errFull is returned by Publish when a topic is full and a group has not yet acknowledged the
// oldest message. No message is dropped that a group still has to read.
var errFull = errors.New("membus: the topic is full")

// transport is one opened bus on a store.
type transport struct {
	store   *store
	release func()

	closed atomic.Bool
}

func (d *transport) Capabilities() driver.Capabilities {
	return driver.Capabilities{OrderedPerKey: true, ConsumerGroups: true, Replay: true}
}

// Ping implements driver.Pinger: there is no server that could be absent.
func (d *transport) Ping(context.Context) error { return nil }

func (d *transport) Publisher() message.Publisher { return publisher{d} }

// Source implements driver.Driver.
func (d *transport) Source(ctx context.Context, topic, group string, window int) (driver.Source, error) {
	switch {
	case topic == "":
		return nil, errors.New("membus: source: topic is empty")
	case group == "":
		return nil, errors.New("membus: source: group is empty")
	case window < 1:
		return nil, fmt.Errorf("membus: source: window is %d; give at least 1", window)
	}
	return newSource(ctx, d.store.topic(topic), group, window), nil
}

// Declare makes topics and groups. Partitions and replication have no effect in one process;
// retention is by count, see [Scheme].
func (d *transport) Declare(_ context.Context, topics ...bus.Topic) error {
	if d.closed.Load() {
		return bus.ErrClosed
	}
	for _, want := range topics {
		t := d.store.topic(want.Name)
		t.mu.Lock()
		for _, g := range want.Groups {
			t.group(g)
		}
		t.mu.Unlock()
	}
	return nil
}

func (d *transport) Close() error {
	if !d.closed.Swap(true) {
		d.release()
	}
	return nil
}

// Lag implements driver.Lagger.
func (d *transport) Lag(ctx context.Context) ([]bus.Lag, error) {
	groups, err := d.Groups(ctx)
	lags := make([]bus.Lag, len(groups))
	for i, g := range groups {
		lags[i] = g.Lag
	}
	return lags, err
}

// HasTopic implements driver.TopicFinder.
func (d *transport) HasTopic(_ context.Context, name string) (bool, error) {
	return d.store.find(name) != nil, nil
}

// Topics implements driver.TopicFinder.
func (d *transport) Topics(context.Context) ([]string, error) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	return slices.Sorted(maps.Keys(d.store.topics)), nil
}

// Browse implements driver.Inspector.
func (d *transport) Browse(_ context.Context, topic string, limit int) ([]*message.Message, error) {
	t := d.store.find(topic)
	if t == nil {
		return nil, nil
	}
	return t.newest(limit), nil
}

// Pending implements driver.Pender.
func (d *transport) Pending(_ context.Context, topic, group string, limit int) ([]*message.Message, error) {
	t := d.store.find(topic)
	if t == nil {
		return nil, nil
	}
	return t.unsettled(group, limit), nil
}

type publisher struct{ driver *transport }

// Publish appends all messages or none. It does not wait.
func (p publisher) Publish(topic string, messages ...*message.Message) error {
	if p.driver.closed.Load() {
		return bus.ErrClosed
	}
	if err := p.driver.store.topic(topic).append(messages); err != nil {
		return driver.Failed(topic, len(messages), messages[0].UUID, driver.Refused, err)
	}
	return nil
}

func (p publisher) Close() error { return nil }
