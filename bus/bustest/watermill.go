package bustest

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/google/uuid"

	"github.com/millrace-go/millrace/bus"
)

// watermillTest is one function of Watermill's suite.
type watermillTest struct {
	name string
	run  func(t *testing.T, b *bus.Bus, o options)
}

// watermillTests lists Watermill's functions one by one, because its own TestPubSub hides the
// functions that a transport never ran.
func watermillTests() []watermillTest {
	return []watermillTest{
		sameGroup("TestPublishSubscribe", tests.TestPublishSubscribe),
		sameGroup("TestConcurrentSubscribe", tests.TestConcurrentSubscribe),
		sameGroup("TestConcurrentSubscribeMultipleTopics", tests.TestConcurrentSubscribeMultipleTopics),
		sameGroup("TestResendOnError", tests.TestResendOnError),
		sameGroup("TestNoAck", tests.TestNoAck),
		sameGroup("TestContinueAfterSubscribeClose", tests.TestContinueAfterSubscribeClose),
		sameGroup("TestConcurrentClose", tests.TestConcurrentClose),
		sameGroup("TestContinueAfterErrors", tests.TestContinueAfterErrors),
		sameGroup("TestPublishSubscribeInOrder", tests.TestPublishSubscribeInOrder),
		sameGroup("TestPublisherClose", tests.TestPublisherClose),
		sameGroup("TestTopic", tests.TestTopic),
		sameGroup("TestMessageCtx", tests.TestMessageCtx),
		sameGroup("TestSubscribeCtx", tests.TestSubscribeCtx),
		sameGroup("TestReconnect", tests.TestReconnect),
		// Each subscriber needs a group of its own: a group's second subscriber shares the
		// messages, it does not get all of them again.
		{"TestNewSubscriberReceivesOldMessages", func(t *testing.T, b *bus.Bus, o options) {
			tests.TestNewSubscriberReceivesOldMessages(t, testContext(b, o), func(t *testing.T) (message.Publisher, message.Subscriber) {
				return b.Publisher(), subscriber(t, b, uuid.NewString())
			})
		}},
		{"TestConsumerGroups", func(t *testing.T, b *bus.Bus, o options) {
			tests.TestConsumerGroups(t, testContext(b, o), func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
				return b.Publisher(), subscriber(t, b, group)
			})
		}},
	}
}

func sameGroup(name string, f func(*testing.T, tests.TestContext, tests.PubSubConstructor)) watermillTest {
	return watermillTest{name, func(t *testing.T, b *bus.Bus, o options) {
		f(t, testContext(b, o), func(t *testing.T) (message.Publisher, message.Subscriber) {
			return b.Publisher(), subscriber(t, b, "watermill")
		})
	}}
}

// testContext states the properties of every bus, and those of its capabilities.
func testContext(b *bus.Bus, o options) tests.TestContext {
	c := b.Capabilities()
	return tests.TestContext{
		TestID: tests.NewTestID(),
		Features: tests.Features{
			ConsumerGroups:                   c.ConsumerGroups,
			GuaranteedOrder:                  c.OrderedPerKey,
			NewSubscriberReceivesOldMessages: c.Replay,
			ExactlyOnceDelivery:              false,
			// Its subscribers come and go on one bus, so this needs no disk.
			Persistent:            true,
			RestartServiceCommand: o.restart,
			ForceShort:            o.quick,
		},
	}
}

func subscriber(t *testing.T, b *bus.Bus, group string) message.Subscriber {
	t.Helper()
	sub, err := b.Subscriber(group, bus.SubscriberConfig{Redelivery: atOnce})
	if err != nil {
		t.Fatal(err)
	}
	// Some of Watermill's tests do not close their subscribers.
	t.Cleanup(func() {
		if err := sub.Close(); err != nil {
			t.Errorf("close a subscriber: %v", err)
		}
	})
	return sub
}
