package app

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/idempotencyprom"
)

// partitions of a topic: how many processes can share a group.
const partitions = 3

// consumers are all groups of all parts of the business.
func (a *App) consumers() []store.Consumer {
	return slices.Concat(a.booking.Consumers(), a.catalog.Consumers(), a.payments.Consumers(), a.stats.Consumers(),
		a.social.Consumers(), a.inbox.Consumers(), a.chat.Consumers())
}

// topics declares the topics that must exist before the first publish: a group that
// is made later would miss earlier messages.
func (a *App) topics() []bus.Topic {
	all := topics(a.consumers())
	if a.cfg.Mirrors() {
		all = append(all, artist.Topics()...)
	}
	return all
}

func topics(consumers []store.Consumer) []bus.Topic {
	var all []bus.Topic
	add := func(name string) *bus.Topic {
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
		all = append(all, bus.Topic{Name: name, Partitions: partitions, Retention: 3 * 24 * time.Hour})
		return &all[len(all)-1]
	}
	for _, c := range consumers {
		t := add(c.Topic)
		t.Groups = append(t.Groups, c.Group)
	}
	for _, c := range consumers {
		dead := add(deadLetters(c.Topic)(c.Topic, c.Group))
		dead.Partitions, dead.Retention = 1, 7*24*time.Hour
	}
	return all
}

// deadLetters names dlq.payment for payment.events, like-events.DLT for
// like-events, and for the queues of domain_events notification_dlq and so on.
func deadLetters(topic string) bus.DeadLetterPolicy {
	switch {
	case topic == events.Domain:
		return bus.QueueDLQ()
	case figuresOf(topic):
		return bus.DLT()
	}
	return bus.DLQ(strings.TrimSuffix(topic, ".events"))
}

// retry is 1, 2 and 4 s, and 1 s once for topics that are only counted.
func retry(topic string) bus.RetryPolicy {
	if figuresOf(topic) {
		return bus.FixedRetry(time.Second, 1)
	}
	return bus.DefaultRetry()
}

// figuresOf reports whether a topic feeds a show's figures.
func figuresOf(topic string) bool {
	return slices.Contains([]string{events.Likes, events.Orders, events.Products, events.Stock}, topic)
}

// operated is the consumer as the operator knows it.
func operated(c store.Consumer) ops.Consumer {
	return ops.Consumer{Topic: c.Topic, Group: c.Group, DeadLetters: deadLetters(c.Topic)(c.Topic, c.Group)}
}

// buildRunner gives each consumer its guard.
func (a *App) buildRunner() error {
	keys, err := a.idempotencyStore(context.Background())
	if err != nil {
		return err
	}
	a.keys = keys
	a.runner, err = bus.NewRunner(a.bus, bus.RunnerConfig{DrainTimeout: a.opt.Drain, Logger: a.log, WorkerID: a.holder, Hooks: a.ops.Hooks(), TracerProvider: a.tracing})
	if err != nil {
		return err
	}
	a.guards = map[ops.Consumer]idempotencyprom.Guard{}
	for _, c := range a.consumers() {
		guard, err := idempotency.New[*sql.Tx](keys, idempotency.Config{Group: c.Group, Key: c.Key})
		if err != nil {
			return err
		}
		a.guards[operated(c)] = guard
		if err := a.runner.Add(a.consumer(c, guard)); err != nil {
			return err
		}
	}
	if m := a.artists; m != nil && m.worker != nil {
		return a.runner.Add(m.worker.Pair(a.ops.Lags()))
	}
	return nil
}

// consumer is a consumer as the runner takes it.
func (a *App) consumer(c store.Consumer, guard *idempotency.Guard[*sql.Tx]) bus.AnyConsumer {
	if c.Batch != nil {
		return a.batchConsumer(c, guard)
	}
	handlers := make(map[string]bus.EventHandler, len(c.Handlers))
	for typ, h := range c.Handlers {
		handlers[typ] = a.guarded(guard, c.Group, h)
	}
	return bus.Consumer{
		Topic: c.Topic, Group: c.Group, Handler: bus.ByType(handlers),
		Retry: retry(c.Topic), DeadLetter: deadLetters(c.Topic),
		Classifiers: []fault.Classifier{a.store.Classify}, Hooks: hooks(c),
	}
}

func hooks(c store.Consumer) (h bus.Hooks) {
	if c.GaveUp != nil {
		h.OnDeadLetter = func(bus.DeadLetter) { c.GaveUp() }
	}
	return h
}

// duplicates is how many messages a consumer skipped as already handled; artists have
// versions instead.
func (a *App) duplicates(c ops.Consumer) int64 {
	if guard := a.guards[c]; guard != nil {
		return guard.Stats().Duplicates
	}
	return 0
}

// guarded makes one transaction of the idempotency key, the handler's effect, the
// events that follow from it and the line in the audit trail. Handlers that run at
// the same time share a commit.
func (a *App) guarded(guard *idempotency.Guard[*sql.Tx], group string, h store.Handler) bus.EventHandler {
	return func(ctx context.Context, e event.Event) error {
		return a.store.Write(ctx, func(ctx context.Context, _ *sql.Tx) error {
			_, err := guard.Do(ctx, e, func(ctx context.Context, tx *sql.Tx) error {
				effect, err := h(ctx, tx, e)
				if err != nil {
					return err
				}
				return a.store.RecordEffect(ctx, tx, group, e, effect)
			})
			return err
		})
	}
}
