package relayfault_test

import (
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/examples/boxoffice/relayfault"
)

type nowhere struct{}

func (nowhere) Publish(topic string, _ ...*message.Message) error {
	fmt.Println("published to", topic)
	return nil
}
func (nowhere) Close() error { return nil }

func ExamplePublisher() {
	// A process without a fault publishes as usual.
	pub, err := relayfault.Publisher(nowhere{}, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pub.Publish("payment.events"))
	// This one would die before its third call of Publish returns.
	_, err = relayfault.Publisher(nowhere{}, "relay-after-publish:3")
	fmt.Println(err)
	_, err = relayfault.Publisher(nowhere{}, "relay-before-lunch")
	fmt.Println(err)
	// Output:
	// published to payment.events
	// <nil>
	// <nil>
	// relayfault: BOXOFFICE_FAULT="relay-before-lunch" is unknown: use relay-after-publish, or with relay-after-publish:7 or relay-after-publish:800ms a later publish
}
