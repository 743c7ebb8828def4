package memidempotency

import (
	"context"
	"slices"

	"github.com/millrace-go/millrace/idempotency/driver"
)

// Recorded counts the recorded keys; see [driver.Forgetter].
func (s *store) Recorded(ctx context.Context, keys []string) (int, error) {
	return s.each(ctx, keys, func(string) {})
}

// Forget removes keys; see [driver.Forgetter].
func (s *store) Forget(ctx context.Context, keys []string) (int, error) {
	return s.each(ctx, keys, func(key string) { delete(s.handled, key) })
}

// each calls do once for each of the keys that is recorded, and counts them.
func (s *store) each(ctx context.Context, keys []string, do func(key string)) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if slices.Contains(keys, "") {
		return 0, driver.ErrEmptyKey
	}
	keys = slices.Clone(keys)
	slices.Sort(keys)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range slices.Compact(keys) {
		if _, ok := s.handled[key]; ok {
			n++
			do(key)
		}
	}
	return n, nil
}
