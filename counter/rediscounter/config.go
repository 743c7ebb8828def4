package rediscounter

import "github.com/millrace-go/millrace/internal/redisdb"

// Config is the configuration of [New]. The zero value works.
type Config struct {
	// Prefix is the prefix of all keys: none by default. Stores with one prefix on one Redis
	// share their deltas. Up to 100 bytes without braces, spaces or control characters.
	Prefix string
}

func (c Config) validate() error {
	return redisdb.CheckName("rediscounter: Config.Prefix", c.Prefix, 100, "stands before the hash tag")
}
