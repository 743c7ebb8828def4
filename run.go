package millrace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/driver"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/outbox"
)

// lastWakes bounds how long Run waits at its end for wake-ups of other processes.
const lastWakes = 5 * time.Second

// Run relays emitted events, runs the handlers and prunes old keys, until ctx ends. Then Run
// waits for the handlers in flight (Config.Runner.DrainTimeout, 30 s), commits their work and
// returns nil. If a part fails permanently, Run stops the other parts in the same way and
// returns the error. Run waits for an absent broker or database.
//
// A process that only emits need not call Run if another process of the application does.
func (a *App[Tx]) Run(ctx context.Context) error {
	consumers, err := a.begin()
	if err != nil {
		return err
	}
	defer a.end()
	b, err := bus.Open(ctx, a.url, a.schemes...)
	switch {
	case stopped(ctx, err):
		return nil
	case err != nil:
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

// Parts holds the parts that Run runs.
type Parts[Tx any] struct {
	Stores *driver.Stores[Tx]
	// Consumers of the registered handlers: each is a bus.Consumer or a bus.BatchConsumer.
	Consumers []bus.AnyConsumer
	Config    Config
}

// Parts is for programs that run the parts of the App themselves, as package millracetest does.
// It replaces Run: it returns the errors of the registrations, and after a call of one of the
// two the other fails.
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

// begin returns the registered consumers, or the errors of the registrations.
func (a *App[Tx]) begin() ([]*consumer[Tx], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.state != fresh:
		return nil, errRan
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

// parts returns the functions that Run runs until its context ends.
func (a *App[Tx]) parts(b *bus.Bus, consumers []*consumer[Tx]) ([]func(context.Context) error, error) {
	relay, err := outbox.NewRelay(a.stores.Outbox, b.Publisher(), a.cfg.Relay)
	if err != nil {
		return nil, err
	}
	parts := []func(context.Context) error{
		relay.Run,
		func(ctx context.Context) error { return idempotency.RunPruner(ctx, a.stores.Keys, a.cfg.Keys) },
		func(ctx context.Context) error { return idempotency.RunPruner(ctx, a.stores.Leases, a.cfg.Keys) },
	}
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

// stopped reports whether an error comes from the end of ctx.
func stopped(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// together runs all parts until ctx or one of them ends, and returns the first error.
func together(ctx context.Context, parts []func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	errs := make(chan error, len(parts))
	for _, run := range parts {
		all.Go(func() {
			defer stop()
			if err := run(ctx); err != nil && !stopped(ctx, err) {
				errs <- err
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}
