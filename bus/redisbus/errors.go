package redisbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/logdriver"
	"github.com/millrace-go/millrace/bus/driver/rediskit"
	"github.com/millrace-go/millrace/fault"
)

// translate adds to an error its class by redisdb, and the sentinels of package bus.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, logdriver.ErrClosed):
		return fmt.Errorf("redisbus: %w", bus.ErrClosed)
	}
	err = fmt.Errorf("redisbus: %w", err)
	switch fault.Of(err, rediskit.Classify) {
	case fault.Infrastructure:
		return fault.MarkInfrastructure(err)
	case fault.Permanent:
		return fault.MarkPermanent(err)
	}
	return err
}

type publisher struct {
	*logdriver.Publisher
	driver *driver
}

// prepareTimeout bounds the start before the first Publish.
const prepareTimeout = 30 * time.Second

func (p publisher) Publish(topic string, messages ...*message.Message) error {
	if _, done := p.driver.started.Made(); !done && len(messages) > 0 {
		ctx, cancel := context.WithTimeout(messages[0].Context(), prepareTimeout)
		defer cancel()
		if err := p.driver.ready(ctx); err != nil {
			return busdriver.Failed(topic, len(messages), messages[0].UUID, busdriver.NotSent, err)
		}
	}
	return translate(p.Publisher.Publish(topic, messages...))
}

type source struct{ *logdriver.Source }

func (s source) Close() error { return translate(s.Source.Close()) }
