package rediscounter

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/internal/redisdb"
)

var (
	//go:embed lua/add.lua
	addText string
	//go:embed lua/take.lua
	takeText string
	//go:embed lua/forget.lua
	forgetText string
)

// store is a [driver.Store] in Redis. Use New.
type store struct {
	client            redis.UniversalClient
	prefix            string
	add, take, forget *redis.Script
}

var _ driver.Store = (*store)(nil)

// New creates a store on a client, which the caller closes. New sends no command.
func New(client redis.UniversalClient, cfg Config) (driver.Store, error) {
	if client == nil {
		return nil, errors.New("rediscounter: the client is nil; make one with redis.NewUniversalClient")
	}
	if err := redisdb.CheckClient(client); err != nil {
		return nil, fmt.Errorf("rediscounter: %w", err)
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &store{
		client: client, prefix: cfg.Prefix,
		add: redis.NewScript(addText), take: redis.NewScript(takeText), forget: redis.NewScript(forgetText),
	}, nil
}

func failed(what, name string, err error) error {
	return fmt.Errorf("rediscounter: %s %s: %w", what, name, redisdb.Mark(err, ""))
}

func (s *store) at(name string, part int) place { return place{s.prefix, name, part} }

// Add implements [driver.Store].
func (s *store) Add(ctx context.Context, name, key string, n int64) error {
	p := s.at(name, partOf(key))
	err := s.add.Run(ctx, redisdb.Once{UniversalClient: s.client}, []string{p.keys(), p.delta(key)}, n, key).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		return failed("add to", name, err)
	}
	return nil
}
