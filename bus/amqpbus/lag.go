package amqpbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/bus"
)

// Lag implements driver.Lagger for the groups that were declared or subscribed here; messages
// in a topic's holding queue count for the redrive group. It counts the messages in the
// queues and this process's unacknowledged ones. The broker does not report the messages
// that other processes hold, so the count may be low by the prefetch of each queue they
// consume. Oldest is known for messages of this process, and zero otherwise.
func (d *driver) Lag(ctx context.Context) ([]bus.Lag, error) {
	all, err := within(ctx, func() ([]bus.Lag, error) {
		a := &admin{ctx: ctx, link: d.consuming}
		defer a.close()
		return lags(d.topology.known(), func(queue string) (int, error) {
			info, _, err := a.inspect(queue)
			return info.Messages, err
		}, d.taken)
	})
	return all, translate("lag", err)
}

// lags looks at what is taken after all queues: a message that leaves its queue in between
// counts twice. The other way round it would not count at all.
func lags(groups []*group, inspect func(queue string) (int, error), take func() map[string]taken) ([]bus.Lag, error) {
	queued := map[string]int{}
	for _, g := range groups {
		for _, q := range g.queues {
			var err error
			if queued[q], err = inspect(q); err != nil {
				return nil, err
			}
		}
	}
	held := take()
	var all []bus.Lag
	for _, g := range groups {
		lag := bus.Lag{Topic: g.topic, Group: g.name}
		for _, q := range g.queues {
			t := held[q]
			lag.Messages += queued[q] + t.messages
			if !t.oldest.IsZero() && (lag.Oldest.IsZero() || t.oldest.Before(lag.Oldest)) {
				lag.Oldest = t.oldest
			}
		}
		all = append(all, lag)
	}
	return all, nil
}

// HasTopic implements driver.TopicFinder: a topic exists when its holding queue exists, or a
// queue of a group that this process knows. Every topic of dead letters has a holding
// queue, because a bus.Runner declares it for the redrive group. Another topic has one if
// it was declared without groups.
func (d *driver) HasTopic(ctx context.Context, name string) (bool, error) {
	if err := checkTopic(name); err != nil {
		return false, translate("topic", err)
	}
	for _, g := range d.topology.known() {
		if g.topic == name {
			return true, nil
		}
	}
	exists, err := within(ctx, func() (bool, error) {
		a := &admin{ctx: ctx, link: d.consuming}
		defer a.close()
		_, exists, err := a.inspect(d.topology.names.holding(name))
		return exists, err
	})
	return exists, translate("topic", err)
}

// Topics implements driver.TopicFinder: AMQP cannot list queues.
func (d *driver) Topics(context.Context) ([]string, error) {
	return nil, fmt.Errorf("amqpbus: topics: %w", errors.ErrUnsupported)
}

type taken struct {
	messages int
	oldest   time.Time
}

// taken returns the messages that this process holds, by queue.
func (d *driver) taken() map[string]taken {
	all := map[string]taken{}
	for s := range d.open.Range {
		for _, l := range s.(*source).lanes {
			session := l.session.Load()
			if session == nil {
				continue
			}
			n, oldest := session.held()
			t := all[l.queue]
			t.messages += n
			if !oldest.IsZero() && (t.oldest.IsZero() || oldest.Before(t.oldest)) {
				t.oldest = oldest
			}
			all[l.queue] = t
		}
	}
	return all
}
