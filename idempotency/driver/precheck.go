package driver

import "context"

// Precheck is a cheap lookup of keys whose effects are committed. It may lose any of them at
// any time.
type Precheck interface {
	// Known reports for each key whether it was marked.
	Known(ctx context.Context, keys []string) ([]bool, error)
	// Mark stores keys whose effects are committed.
	Mark(ctx context.Context, keys []string) error
}
