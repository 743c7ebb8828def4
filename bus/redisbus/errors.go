package redisbus

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/sqllog/logsub"
)

// translate gives an error the class that redisdb knows, and the sentinels of
// package bus.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, logsub.ErrClosed):
		return fmt.Errorf("redisbus: %w", bus.ErrClosed)
	}
	err = fmt.Errorf("redisbus: %w", err)
	switch fault.Of(err, redisdb.Classify) {
	case fault.Infrastructure:
		return fault.MarkInfrastructure(err)
	case fault.Permanent:
		return fault.MarkPermanent(err)
	}
	return err
}

type publisher struct{ *logsub.Publisher }

func (p publisher) Publish(topic string, messages ...*message.Message) error {
	return translate(p.Publisher.Publish(topic, messages...))
}

type subscriber struct {
	*logsub.Subscriber
	watcher *watcher
}

func (s subscriber) SubscribeInitialize(topic string) error {
	return translate(s.Subscriber.SubscribeInitialize(topic))
}

func (s subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if checkTopic(topic) == nil {
		s.watcher.follow(ctx, topic)
	}
	out, err := s.Subscriber.Subscribe(ctx, topic)
	return out, translate(err)
}

func (s subscriber) Close() error { return translate(s.Subscriber.Close()) }
