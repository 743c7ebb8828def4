package artist

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/event"
)

// Requests for refreshes are published once for all that ask at the same time.
type Requests struct {
	coalescer *coalesce.Coalescer
	publisher message.Publisher
}

// request asks the coalescer for a refresh, publishes it if this call is to, and
// reports that.
func (r *Requests) request(ctx context.Context, id string, p event.Priority, reason Reason) (published bool, err error) {
	d, err := r.coalescer.Do(ctx, id, coalesce.Priority(p), func(ctx context.Context, version int64) error {
		return r.publish(ctx, id, p, reason, version)
	})
	return err == nil && d.Mine(), err
}

func (r *Requests) publish(ctx context.Context, id string, p event.Priority, reason Reason, version int64) error {
	e, err := newRequest(id, p, reason, version)
	if err != nil {
		return fmt.Errorf("artist: %w", err)
	}
	msg, err := event.Structured{}.Encode(e.In(ctx))
	if err != nil {
		return fmt.Errorf("artist: %w", err)
	}
	msg.SetContext(ctx)
	return r.publisher.Publish(topicOf(p), msg)
}
