package redissse

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
)

// Config is the configuration of [New]. The zero value works.
type Config struct {
	// Prefix stands before all keys and channels: nothing by default. Hubs with one prefix
	// on one Redis share a cap, and hear each other. Pub/Sub knows no databases: two apps
	// that share a server, each in a database of its own, need a prefix each. Up to 100
	// bytes without braces, spaces or control characters.
	Prefix string
	// Skew is by how much the clocks of a Cluster's nodes may differ: 1 s by default on
	// a Cluster, none on a single server. A lease is on one node and a member on
	// another, so a node whose clock is behind might take a new instance for dead. The
	// price: entries of an instance that died within its last Skew become ghosts later
	// by as much.
	Skew time.Duration
	// Plain uses plain Pub/Sub on a Cluster too, which is needed below Redis 7: each
	// node then passes each message on to all others, and may silently lose it on
	// the way. All instances must agree. A single server always uses plain Pub/Sub.
	Plain bool
	// Silence is the time without data after which a connection gets a PING; 5 s by
	// default. It is closed after as long again without data. Shorter finds a
	// server that hangs sooner, and costs a PING per connection.
	Silence time.Duration
}

func (c Config) validate() error {
	switch {
	case c.Skew < 0:
		return errors.New("redissse: Config.Skew is negative; give a positive duration, or 0 for the default")
	case c.Silence < 0:
		return errors.New("redissse: Config.Silence is negative; give a positive duration, or 0 for 5 s")
	}
	return redisdb.CheckName("redissse: Config.Prefix", c.Prefix, 100, "stands before the hash tag")
}

func (c Config) silence() time.Duration { return cmp.Or(c.Silence, 5*time.Second) }

// checkClient refuses a client whose calls outlast their contexts, or are retried.
func checkClient(client redis.UniversalClient) error {
	if client == nil {
		return errors.New("redissse: the client is nil; make one with redis.NewUniversalClient")
	}
	if err := redisdb.CheckClient(client); err != nil {
		return fmt.Errorf("redissse: %w", err)
	}
	return nil
}
