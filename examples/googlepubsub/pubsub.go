// Package googlepubsub makes a transport of Watermill's adapter for Google Cloud Pub/Sub. It is
// the worked example of docs/choosing-a-transport.md: copy it.
//
//	b, err := bus.Open(ctx, "pubsub://my-project", googlepubsub.Scheme())
//	relay, err := outbox.NewRelay(store, b.Publisher(), outbox.RelayConfig{})
//
// A topic is a topic of Pub/Sub. A group is a subscription with the name topic.group. A
// subscription gets the messages that are published after it was made: declare a topic with its
// groups before anything is published, as bus.Runner does for its own groups.
package googlepubsub

import (
	"context"
	"errors"
	"net/url"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/ThreeDotsLabs/watermill-googlecloud/v2/pkg/googlecloud"
	"github.com/ThreeDotsLabs/watermill/message"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/watermillbus"
	"github.com/millrace-go/millrace/fault"
)

// Scheme opens pubsub://project. Options name the credentials, or the address of an emulator.
func Scheme(options ...option.ClientOption) bus.Scheme {
	return watermillbus.Scheme("pubsub", func(_ context.Context, u *url.URL) (watermillbus.Config, error) {
		if u.Host == "" {
			return watermillbus.Config{}, errors.New("the URL names no project; write pubsub://project")
		}
		return config(u.Host, options), driver.NewParams(u).Err()
	})
}

func config(project string, options []option.ClientOption) watermillbus.Config {
	return watermillbus.Config{
		Publisher: func(context.Context) (message.Publisher, error) {
			return googlecloud.NewPublisher(googlecloud.PublisherConfig{
				ProjectID: project, ClientOptions: options, Marshaler: wire{}, EnableMessageOrdering: true,
				// After a failure, the client otherwise refuses all later messages of the key.
				EnableMessageOrderingAutoResumePublishOnError: true,
				// Publish waits for its message, and the client by default 10 ms for more to send.
				PublishSettings: &pubsub.PublishSettings{DelayThreshold: time.Millisecond},
			}, nil)
		},
		Subscriber: func(_ context.Context, group string) (message.Subscriber, error) {
			return googlecloud.NewSubscriber(googlecloud.SubscriberConfig{
				ProjectID: project, ClientOptions: options, Unmarshaler: wire{},
				// A message that was on its way to a member that has ended comes to another one after
				// this time; by default after a minute.
				ReceiveSettings:          pubsub.ReceiveSettings{MaxDurationPerAckExtension: 10 * time.Second},
				GenerateSubscriptionName: func(topic string) string { return topic + "." + group },
				GenerateSubscription: func(googlecloud.GenerateSubscriptionParams) *pubsubpb.Subscription {
					return &pubsubpb.Subscription{EnableMessageOrdering: true}
				},
			}, nil)
		},
		Capabilities: driver.Capabilities{
			Durable: true, OrderedPerKey: true, ConsumerGroups: true, Broadcast: true, IndividualAcks: true,
			LocksKeys: true, // a key's next message comes after the acknowledgement
		},
		Classify: classify,
	}
}

// classify finds the errors that a message causes itself. All others, also a missing permission,
// are the infrastructure's: they make no dead letters.
func classify(err error) fault.Class {
	if status.Code(err) == codes.InvalidArgument || errors.Is(err, pubsub.ErrOversizedMessage) {
		return fault.Permanent
	}
	return fault.Unclassified
}
