package renewal

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
)

// Insist calls f until it returns nil or a final error, for the given time at most. It goes on
// after the context has ended: the work is done, and only its record is missing.
func Insist(ctx context.Context, within time.Duration, final func(error) bool, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	policy := backoff.Policy{Initial: 20 * time.Millisecond, Max: time.Second, Jitter: 0.2}
	for attempt := 1; ; attempt++ {
		err := f(ctx)
		if err == nil || final(err) || backoff.Sleep(ctx, policy.Delay(attempt)) != nil {
			return err
		}
	}
}
