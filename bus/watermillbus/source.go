package watermillbus

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/wmsource"
)

// Source makes a source of a topic of a Watermill subscriber, for drivers that need more than
// [New]. It closes the subscriber with the source, or when Subscribe fails. The subscription
// lasts until then, even after the end of ctx; it has the values of ctx.
func Source(ctx context.Context, subscriber message.Subscriber, topic string) (driver.Source, error) {
	return wmsource.Own(ctx, subscriber, topic)
}
