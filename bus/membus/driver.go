package membus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
)

// ErrFull is returned by Publish when a topic holds as many messages as it may
// and a group has not yet acknowledged the oldest. Nothing is dropped that a
// group still has to read.
var ErrFull = errors.New("membus: the topic is full")

// driver is one opened bus on a store.
type driver struct {
	store   *store
	release func()

	mu     sync.Mutex
	closed bool
	open   map[*subscriber]struct{}
}

func newDriver(s *store, release func()) *driver {
	return &driver{store: s, release: release, open: map[*subscriber]struct{}{}}
}

func (d *driver) Capabilities() bus.Capabilities {
	return bus.Capabilities{OrderedPerKey: true, ConsumerGroups: true, Replay: true}
}

func (d *driver) Publisher() message.Publisher { return publisher{d} }

func (d *driver) Subscriber(group string, window int) (message.Subscriber, error) {
	if group == "" {
		return nil, errors.New("membus: subscriber: group is empty")
	}
	if window < 1 {
		return nil, fmt.Errorf("membus: subscriber: window is %d; give at least 1", window)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, bus.ErrClosed
	}
	s := &subscriber{driver: d, group: group, window: window, closing: make(chan struct{})}
	d.open[s] = struct{}{}
	return s, nil
}

// Declare makes topics and groups. Partitions and replication mean nothing in
// one process; retention is by count, see [Scheme].
func (d *driver) Declare(_ context.Context, topics ...bus.Topic) error {
	if d.isClosed() {
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

func (d *driver) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	var open []*subscriber
	for s := range d.open {
		open = append(open, s)
	}
	d.mu.Unlock()
	for _, s := range open {
		s.Close() //nolint:errcheck // never fails
	}
	d.release()
	return nil
}

// Lag implements bus.Lagger.
func (d *driver) Lag(context.Context) ([]bus.Lag, error) {
	var lags []bus.Lag
	for _, t := range d.store.all() {
		lags = append(lags, t.lags()...)
	}
	slices.SortFunc(lags, func(a, b bus.Lag) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Group, b.Group))
	})
	return lags, nil
}

// HasTopic implements bus.TopicFinder.
func (d *driver) HasTopic(_ context.Context, name string) (bool, error) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	return d.store.topics[name] != nil, nil
}

// Topics implements bus.TopicFinder.
func (d *driver) Topics(context.Context) ([]string, error) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	return slices.Sorted(maps.Keys(d.store.topics)), nil
}

// Browse implements bus.Inspector.
func (d *driver) Browse(_ context.Context, topic string, limit int) ([]*message.Message, error) {
	d.store.mu.Lock()
	t := d.store.topics[topic]
	d.store.mu.Unlock()
	if t == nil {
		return nil, nil
	}
	return t.newest(limit), nil
}

// Pending implements bus.Pender.
func (d *driver) Pending(_ context.Context, topic, group string, limit int) ([]*message.Message, error) {
	d.store.mu.Lock()
	t := d.store.topics[topic]
	d.store.mu.Unlock()
	if t == nil {
		return nil, nil
	}
	return t.unsettled(group, limit), nil
}

func (d *driver) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

type publisher struct{ driver *driver }

// Publish appends all messages or none. It does not wait.
func (p publisher) Publish(topic string, messages ...*message.Message) error {
	if p.driver.isClosed() {
		return bus.ErrClosed
	}
	return p.driver.store.topic(topic).append(messages)
}

func (p publisher) Close() error { return nil }
