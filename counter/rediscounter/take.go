package rediscounter

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/internal/redisdb"
)

// Take implements [driver.Store]: a batch of each part that has deltas.
func (s *store) Take(ctx context.Context, name string, limit int) ([]driver.Taken, error) {
	keys, err := s.registered(ctx, name, limit)
	if err != nil {
		return nil, failed("take from", name, err)
	}
	var out []driver.Taken
	for part, names := range keys {
		taken, err := s.takePart(ctx, s.at(name, part), names, limit)
		if err != nil {
			return nil, failed("take from", name, err)
		}
		out = append(out, taken...)
	}
	return out, nil
}

// registered returns up to limit keys of each part that have deltas.
func (s *store) registered(ctx context.Context, name string, limit int) ([parts][]string, error) {
	var keys [parts][]string
	var asked [parts]*redis.StringSliceCmd
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for part := range parts {
			asked[part] = p.SRandMemberN(ctx, s.at(name, part).keys(), int64(limit))
		}
		return nil
	})
	if err != nil {
		return keys, err
	}
	for part := range parts {
		keys[part] = asked[part].Val()
	}
	return keys, nil
}

// takePart moves the deltas of the named keys, which are in one part, aside. If some of them
// had no delta, or were moved by another process, it continues with other keys of the part,
// which become fewer each time, until a batch is full or no key can be left.
func (s *store) takePart(ctx context.Context, p place, names []string, limit int) (out []driver.Taken, err error) {
	for len(names) > 0 {
		t, err := s.move(ctx, p, names)
		if err != nil {
			return nil, err
		}
		if len(t.Deltas) > 0 {
			out = append(out, t)
		}
		if len(names) < limit || len(t.Deltas) == limit {
			break
		}
		if names, err = s.client.SRandMemberN(ctx, p.keys(), int64(limit)).Result(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// move runs the script for the named keys.
func (s *store) move(ctx context.Context, p place, names []string) (driver.Taken, error) {
	t := driver.Taken{ID: fmt.Sprintf("%02d-%s", p.part, strings.ToLower(rand.Text()))}
	keys := []string{p.keys(), p.asides(), p.aside(t.ID)}
	args := []any{t.ID}
	for _, name := range names {
		keys, args = append(keys, p.delta(name)), append(args, name)
	}
	got, err := s.take.Run(ctx, redisdb.Once{UniversalClient: s.client}, keys, args...).StringSlice()
	if err != nil {
		return t, err
	}
	t.Deltas, err = deltas(got)
	return t, err
}

// deltas parses alternating names and numbers.
func deltas(answer []string) (all []driver.Delta, err error) {
	if len(answer)%2 != 0 {
		return nil, fmt.Errorf("the script answered %d names and numbers, which are no pairs", len(answer))
	}
	for pair := range slices.Chunk(answer, 2) {
		d, err := delta(pair[0], pair[1])
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

func delta(key, text string) (driver.Delta, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return driver.Delta{}, fmt.Errorf("the delta of %q is no 64-bit number", key)
	}
	return driver.Delta{Key: key, N: n}, nil
}

// Aside implements [driver.Store]: it returns all batches aside.
func (s *store) Aside(ctx context.Context, name string) ([]driver.Taken, error) {
	var lists [parts]*redis.StringSliceCmd
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for part := range parts {
			lists[part] = p.SMembers(ctx, s.at(name, part).asides())
		}
		return nil
	})
	if err != nil {
		return nil, failed("list", name, err)
	}
	var out []driver.Taken
	for part := range parts {
		for _, id := range lists[part].Val() {
			if at, ok := partOfBatch(id); !ok || at != part {
				continue // foreign: Forget would not find it either
			}
			held, err := s.client.HGetAll(ctx, s.at(name, part).aside(id)).Result()
			if err != nil {
				return nil, failed("list", name, err)
			}
			t := driver.Taken{ID: id}
			for key, text := range held {
				d, err := delta(key, text)
				if err != nil {
					return nil, failed("list", name, err)
				}
				t.Deltas = append(t.Deltas, d)
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// Forget implements [driver.Store].
func (s *store) Forget(ctx context.Context, name string, ids []string) error {
	for _, id := range ids {
		part, ok := partOfBatch(id)
		if !ok {
			continue // foreign
		}
		p := s.at(name, part)
		err := s.forget.Run(ctx, s.client, []string{p.asides(), p.aside(id)}, id).Err()
		if err != nil && !errors.Is(err, redis.Nil) {
			return failed("forget of", name, err)
		}
	}
	return nil
}
