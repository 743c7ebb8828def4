package heldseats

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/change.lua
var changeLua string

// Redis is a [Store] in Redis or a Redis Cluster: a hash for each show.
type Redis struct {
	client redis.UniversalClient
	prefix string
	change *redis.Script
}

// NewRedis makes a store on a client, which the caller closes. The keys are prefix +
// hold_seats:{scheduleId}, where the braces stand for the show's id.
func NewRedis(client redis.UniversalClient, prefix string) (*Redis, error) {
	if client == nil {
		return nil, errors.New("heldseats: the client is nil; make one with redis.NewUniversalClient")
	}
	return &Redis{client: client, prefix: prefix, change: redis.NewScript(changeLua)}, nil
}

func (s *Redis) key(show string) string { return s.prefix + "hold_seats:" + show }

// Change implements [Store]: one script, one round trip.
func (s *Redis) Change(ctx context.Context, show string, ttl time.Duration, changes ...Change) error {
	args := make([]any, 1, 1+3*len(changes))
	args[0] = ttl.Milliseconds()
	for _, c := range changes {
		args = append(args, c.Seat, c.Was, c.Now)
	}
	if err := s.change.Run(ctx, s.client, []string{s.key(show)}, args...).Err(); err != nil {
		return fmt.Errorf("heldseats: redis: change %s: %w", show, err)
	}
	return nil
}

// Read implements [Store].
func (s *Redis) Read(ctx context.Context, show string) (map[string]string, error) {
	seats, err := s.client.HGetAll(ctx, s.key(show)).Result()
	if err != nil {
		return nil, fmt.Errorf("heldseats: redis: read %s: %w", show, err)
	}
	return seats, nil
}
