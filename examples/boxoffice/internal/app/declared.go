package app

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
)

// declare makes the topics. It waits for a transport that is absent, since nothing may be
// published before its groups exist.
func (a *App) declare(ctx context.Context) error {
	pause := kit.Backoff{Max: 30 * time.Second, Jitter: .2}
	for attempt := 1; ; attempt++ {
		err := a.bus.Declare(ctx, a.topics()...)
		if err == nil || fault.Of(err) != fault.Infrastructure {
			return err
		}
		a.log.WarnContext(ctx, "BOXOFFICE_BUS_URL (--bus-url): the transport does not answer, and the office opens when it does; it is tried again", "error", err)
		if serr := kit.Sleep(ctx, pause.Delay(attempt)); serr != nil {
			return serr
		}
	}
}

// Consumer is a group of a topic, as the office declares it.
type Consumer struct {
	Topic, Group, DeadLetters string
	// Types are the types of handled events; others are acknowledged.
	Types []string
	Retry bus.RetryPolicy
}

// Topics are all that it declares on the transport, once it is ready.
func (a *App) Topics() []bus.Topic { return a.topics() }

// Consumers are all groups, of this process and of others, once it is ready.
func (a *App) Consumers() []Consumer {
	var all []Consumer
	for _, c := range a.consumers() {
		all = append(all, Consumer{Topic: c.Topic, Group: c.Group, DeadLetters: deadLetters(c.Topic)(c.Topic, c.Group), Types: handled(c), Retry: retry(c.Topic)})
	}
	if a.artists == nil || a.artists.worker == nil {
		return all
	}
	pair := a.artists.worker.Pair(nil)
	for _, one := range []bus.AnyConsumer{pair.High, pair.Low} {
		c, ok := one.(bus.BatchConsumer)
		if !ok {
			continue
		}
		all = append(all, Consumer{Topic: c.Topic, Group: c.Group, DeadLetters: c.DeadLetter(c.Topic, c.Group), Types: []string{artist.UpdateRequest}, Retry: c.Retry})
	}
	return all
}

func handled(c store.Consumer) []string {
	if c.Batch != nil {
		return slices.Sorted(slices.Values(c.BatchTypes))
	}
	return slices.Sorted(maps.Keys(c.Handlers))
}
