package driver

import "context"

// Totals returns the applied totals of a counter; an [Applier] does.
type Totals interface {
	Totals(ctx context.Context, counter string, keys []string) (map[string]int64, error)
}
