package rediskeyed

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/ratelimit/keyed/driver"
)

//go:embed lua/take.lua
var takeText string

// Config is the configuration of [New]. The zero value works.
type Config struct {
	// Name is the hash tag of the keys; "keyed" by default. Limiters with one name on
	// one Redis share their keys. Up to 200 bytes without braces and spaces.
	Name string
}

// store is a [driver.Store] in Redis or a Redis Cluster.
type store struct {
	client redis.UniversalClient
	tag    string
	take   *redis.Script
}

var _ driver.Store = (*store)(nil)

// New makes a store on a client, which the caller closes. It refuses a client that
// ignores contexts or repeats calls: see redisratelimit.New.
func New(client redis.UniversalClient, cfg Config) (driver.Store, error) {
	if cfg.Name == "" {
		cfg.Name = "keyed"
	}
	switch {
	case client == nil:
		return nil, errors.New("rediskeyed: the client is nil; make one with redis.NewUniversalClient")
	case len(cfg.Name) > 200 || strings.ContainsAny(cfg.Name, "{} \t\r\n"):
		return nil, fmt.Errorf("rediskeyed: Config.Name is %.80q; give at most 200 bytes without braces and spaces", cfg.Name)
	}
	if err := redisdb.CheckClient(client); err != nil {
		return nil, fmt.Errorf("rediskeyed: %w", err)
	}
	return &store{client: client, tag: "{" + cfg.Name + "}:", take: redis.NewScript(takeText)}, nil
}

const double = 8 // bytes

// Take decides calls in one script; see [driver.Store].
func (s *store) Take(ctx context.Context, asks []driver.Ask) ([]time.Duration, error) {
	if len(asks) == 0 || len(asks) > driver.MaxAsks {
		return nil, fmt.Errorf("rediskeyed: %d calls; give 1 to %d", len(asks), driver.MaxAsks)
	}
	keys, args := make([]string, len(asks)), make([]byte, 0, 2*double*len(asks))
	for i, a := range asks {
		keys[i] = s.tag + a.Key
		args = binary.LittleEndian.AppendUint64(args, math.Float64bits(float64(a.Every.Microseconds())))
		args = binary.LittleEndian.AppendUint64(args, math.Float64bits(float64(a.Burst)))
	}
	answer, err := s.take.Run(ctx, s.client, keys, args).Text()
	if err == nil && len(answer) != double*len(asks) {
		err = fmt.Errorf("the script answered %d bytes to %d calls", len(answer), len(asks))
	}
	if err != nil {
		return nil, failed(err)
	}
	waits := make([]time.Duration, len(asks))
	for i := range waits {
		wait := math.Float64frombits(binary.LittleEndian.Uint64([]byte(answer[i*double:])))
		waits[i] = time.Duration(wait) * time.Microsecond
	}
	return waits, nil
}

func failed(err error) error {
	return fmt.Errorf("rediskeyed: take: %w", redisdb.Mark(err, "+evalsha +eval +time +mget +set on the keys of the store"))
}
