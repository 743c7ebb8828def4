package redisidempotency

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/idempotency/driver"
)

// chunk is how many keys one round trip takes.
const chunk = 1000

// Recorded counts the handled keys; see [driver.Forgetter].
func (s *store) Recorded(ctx context.Context, keys []string) (n int, err error) {
	err = distinct(keys, func(keys []string) error {
		known, err := s.Known(ctx, keys)
		for _, is := range known {
			if is {
				n++
			}
		}
		return err
	})
	return n, err
}

// Forget removes handled keys, and keeps those that a call holds; see [driver.Forgetter].
func (s *store) Forget(ctx context.Context, keys []string) (n int, err error) {
	err = distinct(keys, func(keys []string) error {
		gone, err := s.drop(ctx, keys)
		n += gone
		return err
	})
	return n, err
}

func (s *store) drop(ctx context.Context, keys []string) (n int, err error) {
	answers := make([]*redis.Cmd, len(keys))
	// Every call has its own error, and the pipeline's is the first of them.
	//nolint:errcheck // see above
	s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			answers[i] = s.scripts.drop.EvalSha(ctx, p, []string{named(s.cfg.Prefix, key)}, mark)
		}
		return nil
	})
	for i, key := range keys {
		if redis.HasErrorPrefix(answers[i].Err(), "NOSCRIPT") {
			answers[i] = s.scripts.drop.Eval(ctx, s.client, []string{named(s.cfg.Prefix, key)}, mark)
		}
		gone, err := answers[i].Bool()
		if err != nil {
			return n, failed("forget", key, err)
		}
		if gone {
			n++
		}
	}
	return n, nil
}

// distinct calls do with the keys in chunks, without the repeated ones.
func distinct(keys []string, do func(keys []string) error) error {
	if slices.Contains(keys, "") {
		return driver.ErrEmptyKey
	}
	keys = slices.Clone(keys)
	slices.Sort(keys)
	for some := range slices.Chunk(slices.Compact(keys), chunk) {
		if err := do(some); err != nil {
			return err
		}
	}
	return nil
}
