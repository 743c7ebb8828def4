package watermillbus

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

// Config describes a Watermill Pub/Sub as a transport. The functions may be called concurrently.
// The end of ctx ends the wait for a function, and its later result is closed.
type Config struct {
	// Publisher makes the publisher that the bus shares, at the first Publish, and again after a
	// failure. Required.
	Publisher func(ctx context.Context) (message.Publisher, error)
	// Subscriber makes a subscriber for one subscription of a group. It is closed with the
	// subscription, so it must not be shared. Required.
	Subscriber func(ctx context.Context, group string) (message.Subscriber, error)
	// Capabilities are those of the Pub/Sub with these settings. They are used unchanged: a
	// capability that the Pub/Sub does not have breaks guarantees of package bus.
	Capabilities driver.Capabilities
	// Declare makes a topic and its groups, and is idempotent. By default a subscriber of each
	// group initializes the topic, if it is a message.SubscribeInitializer; a topic without
	// groups is made at its first use.
	Declare func(ctx context.Context, t bus.Topic) error
	// Ping checks whether the server is available. Optional.
	Ping func(ctx context.Context) error
	// Classify classifies errors of the Pub/Sub; those that it does not know count as
	// infrastructure. Optional.
	Classify fault.Classifier
	// Close closes the resources that the functions share, after the publisher and the
	// subscriptions. Optional.
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
