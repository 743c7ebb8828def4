package millrace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/outbox"
)

// lastWakes bounds how long Run waits at its end for wake-ups of other processes.
const lastWakes = 5 * time.Second

// Run relays what was emitted, runs the handlers, and prunes old keys, until ctx ends. Then
// handlers may finish (Config.Runner.DrainTimeout, 30 s), what they did is committed, and Run
// returns nil. When a part fails for good, Run ends the others in the same way and returns
// its error. An absent broker or database is waited for.
//
// An application that only emits need not call Run where another process of it does.
func (a *App[Tx]) Run(ctx context.Context) error {
	consumers, err := a.begin()
	if err != nil {
		return err
	}
	defer a.end()
	b, err := a.opener.Open(ctx, a.url)
	if err != nil {
		return fmt.Errorf("millrace: %w", err)
	}
	parts, err := a.parts(b, consumers)
	if err == nil {
		err = together(ctx, parts)
	}
	waking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWakes)
	defer cancel()
	return errors.Join(err, a.box.Close(waking), b.Close())
}

// Parts are what Run puts to work.
type Parts[Tx any] struct {
	Stores *Stores[Tx]
	// Consumers of the handlers that were registered: each is a bus.Consumer or a
	// bus.BatchConsumer.
	Consumers []bus.AnyConsumer
	Config    Config
}

// Parts is for programs that run the parts of the App in another way, as package
// millracetest does. It takes the place of Run: it returns what is wrong with the
// registrations, and neither is possible after the other.
func (a *App[Tx]) Parts() (Parts[Tx], error) {
	consumers, err := a.begin()
	if err != nil {
		return Parts[Tx]{}, err
	}
	parts := Parts[Tx]{Stores: a.stores, Config: a.cfg}
	for _, c := range consumers {
		parts.Consumers = append(parts.Consumers, c.part())
	}
	return parts, nil
}

// begin takes what was registered, or says what is wrong with it.
func (a *App[Tx]) begin() ([]*consumer[Tx], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.state != fresh:
		return nil, ErrRan
	case len(a.problems) > 0:
		return nil, errors.Join(a.problems...)
	}
	a.state = running
	return a.consumers, nil
}

func (a *App[Tx]) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = ended
}

// parts are what runs until the end of a context.
func (a *App[Tx]) parts(b *bus.Bus, consumers []*consumer[Tx]) ([]func(context.Context) error, error) {
	relay, err := outbox.NewRelay(a.stores.Outbox, b.Publisher(), a.cfg.Relay)
	if err != nil {
		return nil, err
	}
	pruner, err := idempotency.NewPruner(a.stores.Keys, a.cfg.Keys)
	if err != nil {
		return nil, err
	}
	parts := []func(context.Context) error{relay.Run, pruner.Run}
	if len(consumers) == 0 {
		return parts, nil
	}
	runner, err := bus.NewRunner(b, a.cfg.Runner)
	if err != nil {
		return nil, err
	}
	for _, c := range consumers {
		if err := runner.Add(c.part()); err != nil {
			return nil, fmt.Errorf("millrace: group %q of topic %q: %w", c.group, c.topic, err)
		}
	}
	return append(parts, runner.Run), nil
}

func (c *consumer[Tx]) part() bus.AnyConsumer {
	if c.batch != nil {
		return *c.batch
	}
	one := c.one
	one.Topic, one.Group, one.Guarded, one.Handler = c.topic, c.group, nil, bus.ByType(c.handlers)
	return one
}

// together runs all parts until ctx ends or one of them does, and returns the first error.
func together(ctx context.Context, parts []func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	errs := make(chan error, len(parts))
	for _, run := range parts {
		all.Go(func() {
			defer stop()
			if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				errs <- err
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}
