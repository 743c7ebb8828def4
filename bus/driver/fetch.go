package driver

import (
	"context"
	"fmt"
)

// Fetch implements [Source.Fetch] for a source whose collect does not wait. It returns the
// result of collect, and calls collect again at each signal of ready. After closed it fails with
// an error that wraps [ErrEnded] and cause.
func Fetch(ctx context.Context, ready, closed <-chan struct{}, cause error, collect func() []Delivery) ([]Delivery, error) {
	for {
		if all := collect(); len(all) > 0 {
			return all, nil
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-closed:
			return nil, fmt.Errorf("%w: %w", ErrEnded, cause)
		}
	}
}
