package meter

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var scripts embed.FS

// RedisConfig of a [Redis]. The zero value works.
type RedisConfig struct {
	// Name is the hash tag of the keys: "calls" when empty, hence
	// {calls}:1772366645. Meters with one name on one Redis count together.
	Name string
}

func (c RedisConfig) validate() error {
	if i := strings.IndexFunc(c.Name, func(r rune) bool { return r == '{' || r == '}' || r <= ' ' || r == 0x7f }); i >= 0 {
		return fmt.Errorf("meter: RedisConfig.Name %q has a brace or a space at byte %d; it is the hash tag of the keys, leave it out", c.Name, i)
	}
	return nil
}

// Redis is a [Store] in Redis or a Redis Cluster, for the meters of many processes.
// Each second is a hash of two fields, which expires after three minutes. Time is the
// time of the server that has the keys.
type Redis struct {
	client    redis.UniversalClient
	prefix    string
	add, read *redis.Script
}

// NewRedis makes a store on a client, which the caller closes. The client should have
// ContextTimeoutEnabled, or a server that hangs delays a write beyond its timeout,
// and MaxRetries -1, or a write that is sent twice counts twice.
func NewRedis(client redis.UniversalClient, cfg RedisConfig) (*Redis, error) {
	if client == nil {
		return nil, errors.New("meter: the client is nil; make one with redis.NewUniversalClient")
	}
	cfg.Name = cmp.Or(cfg.Name, "calls")
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	load := func(name string) *redis.Script {
		b, err := scripts.ReadFile("lua/" + name)
		if err != nil {
			panic(err) // the file is embedded above
		}
		return redis.NewScript(string(b))
	}
	return &Redis{client: client, prefix: "{" + cfg.Name + "}:", add: load("add.lua"), read: load("read.lua")}, nil
}

func (s *Redis) key(unix int64) string { return s.prefix + strconv.FormatInt(unix, 10) }

// Add implements [Store]: one script, one round trip.
func (s *Redis) Add(ctx context.Context, counts []Second) (time.Time, error) {
	keys, args := make([]string, 0, len(counts)), make([]any, 1, 1+2*len(counts))
	args[0] = keepFor.Milliseconds()
	for _, c := range counts {
		keys = append(keys, s.key(c.Unix))
		args = append(args, c.High, c.Low)
	}
	if len(keys) == 0 {
		// The key decides which node of a Cluster is asked for its time.
		keys = append(keys, s.key(0))
		args = append(args, 0, 0)
	}
	answer, err := s.add.Run(ctx, s.client, keys, args...).Int64Slice()
	if err != nil {
		return time.Time{}, fmt.Errorf("meter: redis: add: %w", err)
	}
	if len(answer) != 2 {
		return time.Time{}, fmt.Errorf("meter: redis: add: the script answered %v", answer)
	}
	return time.Unix(answer[0], 1000*answer[1]), nil
}

// Read implements [Store]: one script, one round trip.
func (s *Redis) Read(ctx context.Context, first int64, n int) ([]Second, time.Time, error) {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = s.key(first + int64(i))
	}
	answer, err := s.read.Run(ctx, s.client, keys).Int64Slice()
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("meter: redis: read: %w", err)
	}
	if len(answer) != 2+2*n {
		return nil, time.Time{}, fmt.Errorf("meter: redis: read: the script answered %d numbers to %d keys", len(answer), n)
	}
	seconds := make([]Second, n)
	for i := range seconds {
		seconds[i] = Second{Unix: first + int64(i), High: answer[2+2*i], Low: answer[3+2*i]}
	}
	return seconds, time.Unix(answer[0], 1000*answer[1]), nil
}
