package driver

import (
	"context"
	"time"
)

// Prunable is a store of old keys to delete: a [Store] or a [LeaseStore].
type Prunable interface {
	Prune(ctx context.Context, age time.Duration, limit int) (int, error)
}
