package rediscounter

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// asked holds the lookups in one part.
type asked struct {
	keys   []string
	deltas *redis.SliceCmd
	asides *redis.StringSliceCmd
	held   []*redis.SliceCmd
}

// Pending implements driver.Store with one round trip, or two if there are batches aside.
// The nodes of a Cluster are called concurrently.
func (s *store) Pending(ctx context.Context, name string, keys []string) (map[string]int64, error) {
	byPart := map[int]*asked{}
	for _, key := range keys {
		part := partOf(key)
		if byPart[part] == nil {
			byPart[part] = &asked{}
		}
		byPart[part].keys = append(byPart[part].keys, key)
	}
	if err := s.lookNow(ctx, name, byPart); err != nil {
		return nil, failed("look up", name, err)
	}
	if err := s.lookAside(ctx, name, byPart); err != nil {
		return nil, failed("look up", name, err)
	}
	out := make(map[string]int64, len(keys))
	for _, a := range byPart {
		for _, cmd := range append(a.held, a.deltas) {
			for i, value := range cmd.Val() {
				text, ok := value.(string)
				if !ok {
					continue
				}
				if d, err := delta(a.keys[i], text); err == nil {
					out[d.Key] += d.N // a value that is not a number is foreign
				}
			}
		}
	}
	return out, nil
}

func (s *store) lookNow(ctx context.Context, name string, byPart map[int]*asked) error {
	_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for part, a := range byPart {
			p := s.at(name, part)
			deltas := make([]string, len(a.keys))
			for i, key := range a.keys {
				deltas[i] = p.delta(key)
			}
			a.asides = pipe.SMembers(ctx, p.asides())
			a.deltas = pipe.MGet(ctx, deltas...)
		}
		return nil
	})
	return err
}

func (s *store) lookAside(ctx context.Context, name string, byPart map[int]*asked) error {
	_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for part, a := range byPart {
			for _, id := range a.asides.Val() {
				a.held = append(a.held, pipe.HMGet(ctx, s.at(name, part).aside(id), a.keys...))
			}
		}
		return nil
	})
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}
