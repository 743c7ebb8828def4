package bus

import (
	"context"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/backoff"
)

// absence is the backoff of a consumer that waits for an absent server.
var absence = backoff.Policy{Initial: 500 * time.Millisecond, Max: 30 * time.Second, Jitter: 0.2}

// await calls do until it returns nil or an error that is not infrastructure. It logs each
// infrastructure error with the name of the operation. If ctx ends first, await returns its
// cause.
func await(ctx context.Context, log *slog.Logger, what string, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if fault.Of(err) != fault.Infrastructure {
			return err
		}
		wait := absence.Delay(attempt)
		log.Warn("bus: waiting for the transport's server, to "+what, "attempt", attempt, "again_in", wait, "error", err)
		if backoff.Sleep(ctx, wait) != nil {
			return context.Cause(ctx)
		}
	}
}
