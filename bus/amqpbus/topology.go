package amqpbus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

// group is the queues of a consumer group of a topic.
type group struct {
	topic, name string
	base        string   // of the queues' names
	queues      []string // one for each partition
	bound       bool     // to the exchange, as far as this process knows
}

// held reports whether the group reads the topic's holding queue.
func (g *group) held() bool { return g.name == busdriver.RedriveGroup }

type groupID struct{ topic, group string }

// topology creates queues and bindings, and remembers those that it created or found.
type topology struct {
	link  *link
	cfg   Config
	names naming

	declaring sync.Mutex // one declaration at a time in this process
	groups    sync.Map   // from groupID to *group
}

func newTopology(l *link, cfg Config) *topology {
	return &topology{link: l, cfg: cfg, names: naming{cfg.Prefix, cfg.Exchange, cfg.QueueName, cfg.Bindings}}
}

// exchange creates the exchange on a new connection. An existing one is used with any
// arguments: other programs publish to it as well.
func exchange(conn *amqp.Connection, name string) error {
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	err = ch.ExchangeDeclarePassive(name, amqp.ExchangeTopic, true, false, false, false, nil)
	if is(err, amqp.NotFound) {
		if ch, err = conn.Channel(); err != nil {
			return err
		}
		err = ch.ExchangeDeclare(name, amqp.ExchangeTopic, true, false, false, false, nil)
	}
	if err != nil {
		return fmt.Errorf("exchange %s: %w", name, err)
	}
	return ch.Close()
}

// declare creates the queues of a bus.Topic.
func (t *topology) declare(ctx context.Context, want bus.Topic) error {
	if err := checkTopic(want.Name); err != nil {
		return err
	}
	if want.Partitions > slots {
		return fault.MarkPermanent(fmt.Errorf("topic %s: %d partitions; give at most %d", want.Name, want.Partitions, slots))
	}
	t.declaring.Lock()
	defer t.declaring.Unlock()
	a := &admin{ctx: ctx, link: t.link}
	defer a.close()
	if len(want.Groups) == 0 {
		_, err := t.hold(a, want.Name, want.Retention)
		return err
	}
	for _, name := range want.Groups {
		have, err := t.existing(a, want.Name, name)
		if err != nil {
			return err
		}
		n := len(have.queues)
		switch {
		case n > 0 && want.Partitions > 0 && n != want.Partitions && !t.names.single(want.Name, name):
			return fault.MarkPermanent(fmt.Errorf(
				"group %s of %s has %d queues, %d are declared: %w; drain and delete its queues, or declare %d",
				name, want.Name, n, want.Partitions, errPartitions, n))
		case n == 0:
			n = want.Partitions
		}
		if _, err := t.make(a, want.Name, name, n, want.Retention); err != nil {
			return err
		}
	}
	return nil
}

// resolve returns the queues of a group, and creates them if there are none.
func (t *topology) resolve(ctx context.Context, topic, name string) (*group, error) {
	if err := checkTopic(topic); err != nil {
		return nil, err
	}
	t.declaring.Lock()
	defer t.declaring.Unlock()
	if known, ok := t.groups.Load(groupID{topic, name}); ok {
		return known.(*group), nil
	}
	a := &admin{ctx: ctx, link: t.link}
	defer a.close()
	g, err := t.existing(a, topic, name)
	if err != nil {
		return nil, err
	}
	if len(g.queues) > 0 && g.held() {
		return t.remember(g), nil // the creator of the queue chose its bindings
	}
	return t.make(a, topic, name, len(g.queues), 0)
}

// restore creates a group's deleted queues again.
func (t *topology) restore(ctx context.Context, g *group) error {
	t.declaring.Lock()
	defer t.declaring.Unlock()
	a := &admin{ctx: ctx, link: t.link}
	defer a.close()
	if g.held() && !g.bound {
		_, err := t.hold(a, g.topic, 0)
		return err
	}
	_, err := t.make(a, g.topic, g.name, len(g.queues), 0)
	return err
}

// existing returns a group with the queues that exist. The last one is created first, so if
// the first exists, all do.
func (t *topology) existing(a *admin, topic, name string) (*group, error) {
	g := t.group(topic, name, 1)
	if _, exists, err := a.inspect(g.base); err != nil || exists {
		return g, err
	}
	g.queues = nil
	for !t.names.single(topic, name) {
		q := partition(g.base, len(g.queues))
		if _, exists, err := a.inspect(q); err != nil || !exists {
			return g, err
		}
		g.queues = append(g.queues, q)
	}
	return g, nil
}

// make creates n queues of a group and binds them; 0 means the default number. Only the
// redrive group's queue drops messages older than the retention.
func (t *topology) make(a *admin, topic, name string, n int, retention time.Duration) (*group, error) {
	if name != busdriver.RedriveGroup {
		retention = 0
	}
	switch {
	case t.names.single(topic, name):
		n = 1
	case n == 0:
		n = t.cfg.Partitions
	}
	g := t.group(topic, name, n)
	g.bound = true
	if err := checkQueue(g.base); err != nil {
		return nil, err
	}
	for _, q := range slices.Backward(g.queues) {
		if err := t.queue(a, q, retention); err != nil {
			return nil, fmt.Errorf("queue %s: %w", q, err)
		}
	}
	for p, q := range g.queues {
		if err := a.bind(q, t.cfg.Prefix+t.cfg.Exchange, t.names.patterns(topic, name, p, n)); err != nil {
			return nil, fmt.Errorf("bind queue %s: %w", q, err)
		}
	}
	return t.remember(g), nil
}

func checkQueue(name string) error {
	if name == "" || len(name) > 240 || strings.HasPrefix(name, "amq.") {
		return fault.MarkPermanent(fmt.Errorf("the queue's name would be %q: give topic and group names of together at most 240 bytes, not beginning with amq.", name))
	}
	return nil
}

// hold creates the holding queue of a topic without bindings: it receives the messages that
// no group accepts.
func (t *topology) hold(a *admin, topic string, retention time.Duration) (*group, error) {
	g := t.group(topic, busdriver.RedriveGroup, 1)
	if err := checkQueue(g.base); err != nil {
		return nil, err
	}
	if err := t.queue(a, g.base, retention); err != nil {
		return nil, fmt.Errorf("holding queue %s: %w", g.base, err)
	}
	known, _ := t.groups.LoadOrStore(groupID{topic, g.name}, g)
	return known.(*group), nil
}

// group returns a group with n queues.
func (t *topology) group(topic, name string, n int) *group {
	g := &group{topic: topic, name: name, base: t.names.base(topic, name)}
	if n == 1 {
		g.queues = []string{g.base}
		return g
	}
	for p := range n {
		g.queues = append(g.queues, partition(g.base, p))
	}
	return g
}

// queue creates a queue with this package's arguments.
func (t *topology) queue(a *admin, name string, retention time.Duration) error {
	conn, err := t.link.connection(a.ctx)
	if err != nil {
		return err
	}
	args := amqp.Table{"x-queue-type": t.cfg.QueueType, "x-single-active-consumer": true}
	if retention > 0 {
		args["x-message-ttl"] = retention.Milliseconds()
	}
	if t.cfg.QueueType == quorum && version(conn) >= 4 {
		// From 4.0 on a quorum queue drops a message after 20 deliveries. Older brokers
		// have no limit, and take -1 for "drop at the first redelivery".
		args[deliveryLimit] = -1
	}
	err = a.declare(name, args)
	switch {
	case is(err, amqp.PreconditionFailed) && differsIn(err, deliveryLimit) && args[deliveryLimit] != nil:
		// Created by an older broker. Its other arguments must match.
		delete(args, deliveryLimit)
		if err = a.declare(name, args); err == nil {
			t.cfg.Logger.Warn("amqpbus: the queue was made without x-delivery-limit=-1, so the broker drops what is delivered too often; set a policy with delivery-limit -1", "queue", name)
		}
	case is(err, amqp.PreconditionFailed) && differsIn(err, "x-message-ttl"):
		if _, _, err = a.inspect(name); err == nil && retention > 0 {
			t.cfg.Logger.Warn("amqpbus: the holding queue keeps the retention it was made with", "queue", name)
		}
	case is(err, amqp.AccessRefused):
		// A user that may only publish and consume uses the existing queue.
		if _, exists, perr := a.inspect(name); perr == nil && exists {
			err = nil
		}
	}
	return err
}

const deliveryLimit = "x-delivery-limit"

// differsIn reports whether the broker's complaint is about this argument.
func differsIn(err error, argument string) bool {
	var e *amqp.Error
	return errors.As(err, &e) && strings.Contains(e.Reason, "'"+argument+"'")
}

func (t *topology) remember(g *group) *group {
	t.groups.Store(groupID{g.topic, g.name}, g)
	return g
}

// known returns the groups that were declared or used here.
func (t *topology) known() (all []*group) {
	for _, g := range t.groups.Range {
		all = append(all, g.(*group))
	}
	return all
}
