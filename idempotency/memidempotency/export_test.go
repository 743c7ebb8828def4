package memidempotency

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/idempotency/driver"
)

// Backdate returns a function that makes keys of a store older, for the conformance suite.
func Backdate(of driver.MemoryStore) func(ctx context.Context, key string, by time.Duration) error {
	s := of.(*store)
	return func(_ context.Context, key string, by time.Duration) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.handled[key] = s.handled[key].Add(-by)
		return nil
	}
}
