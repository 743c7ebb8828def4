package driver

import (
	"context"
	"time"
)

// MemoryStore is a store in the memory of a process, as memcoalesce.New returns it. Its own methods
// are for tests.
type MemoryStore interface {
	Store
	// Backdate makes a key's lock and version older by the given time.
	Backdate(ctx context.Context, key string, by time.Duration) error
	// Lose removes a key.
	Lose(ctx context.Context, key string) error
}
