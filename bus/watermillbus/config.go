package watermillbus

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
)

// Config is a Watermill Pub/Sub, as a transport sees it. The functions may be called
// concurrently; the end of ctx ends the wait for them, and what they return later is closed.
type Config struct {
	// Publisher makes the publisher that the bus shares, at the first Publish; again after
	// a failure. Required.
	Publisher func(ctx context.Context) (message.Publisher, error)
	// Subscriber makes a subscriber for one subscription of a group. It is closed with the
	// subscription, and so must be one of its own. Required.
	Subscriber func(ctx context.Context, group string) (message.Subscriber, error)
	// Capabilities are those of the Pub/Sub with these settings. Nothing is added to them:
	// a capability that it does not have breaks promises of package bus.
	Capabilities bus.Capabilities
	// Declare makes a topic and its groups, and is idempotent. By default a subscriber of
	// each group is asked to, if it is a message.SubscribeInitializer; a topic without
	// groups is made when it is used.
	Declare func(ctx context.Context, t bus.Topic) error
	// Ping asks the server whether it is there. Optional.
	Ping func(ctx context.Context) error
	// Classify judges errors of the Pub/Sub; those that it does not know count as
	// infrastructure. Optional.
	Classify fault.Classifier
	// Close ends what the functions share, after the publisher and the subscriptions.
	// Optional.
	Close func() error
}

func (c Config) validate() error {
	switch {
	case c.Publisher == nil:
		return errors.New("Config.Publisher is nil; give the function that makes the Pub/Sub's publisher")
	case c.Subscriber == nil:
		return errors.New("Config.Subscriber is nil; give the function that makes a subscriber of a group")
	}
	return nil
}
