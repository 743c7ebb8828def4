package app

import (
	"maps"
	"slices"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// Consumer is a group of a topic, as the office declares it.
type Consumer struct {
	Topic, Group, DeadLetters string
	// Types are the types of handled events; others are acknowledged.
	Types []string
	Retry bus.RetryPolicy
}

// Topics are all that it declares on the transport, once it is ready.
func (a *App) Topics() []bus.Topic { return a.office.topics() }

// Consumers are all groups, of this process and of others, once it is ready.
func (a *App) Consumers() []Consumer {
	var all []Consumer
	for _, c := range a.office.consumers.all {
		all = append(all, Consumer{Topic: c.Topic, Group: c.Group, DeadLetters: deadLetters(c.Topic, c.Group), Types: handled(c), Retry: retry(c.Topic)})
	}
	m := a.office.artists
	if m == nil || m.worker == nil {
		return all
	}
	pair := m.worker.Pair(nil)
	for _, one := range []bus.AnyConsumer{pair.High, pair.Low} {
		c, ok := one.(bus.BatchConsumer)
		if !ok {
			continue
		}
		all = append(all, Consumer{Topic: c.Topic, Group: c.Group, DeadLetters: c.DeadLetter, Types: []string{artist.UpdateRequest}, Retry: c.Retry})
	}
	return all
}

func handled(c store.Consumer) []string {
	if c.Batch != nil {
		return slices.Sorted(slices.Values(c.BatchTypes))
	}
	return slices.Sorted(maps.Keys(c.Handlers))
}
