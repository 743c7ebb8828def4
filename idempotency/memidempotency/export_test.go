package memidempotency

import (
	"context"
	"time"
)

// Backdate makes a key older, for the conformance suite.
func (s *Store) Backdate(_ context.Context, key string, by time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handled[key] = s.handled[key].Add(-by)
	return nil
}
