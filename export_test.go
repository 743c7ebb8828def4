package millrace

import (
	"context"

	"github.com/millrace-go/millrace/outbox"
)

// Box returns the App's outbox, for events that Emit did not create.
func (a *App[Tx]) Box() *outbox.Outbox { return a.box }

// Together is what Run does with its parts.
func Together(ctx context.Context, parts ...func(context.Context) error) error {
	return together(ctx, parts)
}
