package logbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

// translate gives an error the class that the database's driver knows, and the sentinels of
// package bus.
func (d *Driver) translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, logsub.ErrClosed):
		return fmt.Errorf("%s: %w", d.parts.Name, bus.ErrClosed)
	}
	err = fmt.Errorf("%s: %w", d.parts.Name, err)
	if errors.Is(err, context.DeadlineExceeded) {
		// The bus's own time limit: the database, or a connection of the pool, was not available
		// in time.
		return fault.MarkInfrastructure(err)
	}
	switch d.parts.Classify(err) {
	case fault.Transient:
		return fault.MarkTransient(err)
	case fault.Infrastructure:
		return fault.MarkInfrastructure(err)
	case fault.Permanent:
		return fault.MarkPermanent(err)
	}
	return err
}

type publisher struct {
	*logsub.Publisher
	driver *Driver
}

func (p publisher) Publish(topic string, messages ...*message.Message) error {
	if len(messages) > 0 {
		if err := p.driver.prepare(messages[0].Context()); err != nil {
			return p.driver.translate(driver.Failed(topic, len(messages), messages[0].UUID, driver.NotSent, err))
		}
	}
	return p.driver.translate(p.Publisher.Publish(topic, messages...))
}

// prepareTimeout bounds the preparation of the first Publish.
const prepareTimeout = 30 * time.Second

// prepare does the work that has to be done before a message with the context is published.
func (d *Driver) prepare(ctx context.Context) error {
	if _, done := d.started.Made(); !done {
		bounded, cancel := context.WithTimeout(ctx, prepareTimeout)
		defer cancel()
		if err := d.ready(bounded); err != nil {
			return err
		}
	}
	if err := d.pools.Look(ctx); err != nil {
		return fmt.Errorf("compare Config.DB: %w", err)
	}
	return nil
}

type source struct {
	*logsub.Source
	driver *Driver
}

func (s source) Close() error { return s.driver.translate(s.Source.Close()) }
