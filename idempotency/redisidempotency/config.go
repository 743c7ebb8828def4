package redisidempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// Config configures a store of [New] or [NewLeases].
type Config struct {
	// Prefix of the Redis keys; "idempotency:" when empty, and for leases "idempotency:lease:".
	// Give a store and its leases two prefixes. A Redis key is the prefix and an idempotency key
	// of up to 255 bytes; the end of a longer key is replaced by its SHA-256.
	Prefix string
	// TTL is how long a handled key is kept, or a leased key after its last change; 7 days when
	// zero. A redelivery after that runs the handler again, or asks the store behind this one.
	// With leases it must exceed the longest lease, too. Each key costs Redis about 100 bytes
	// until then.
	TTL time.Duration
	// Lease is how long a crash inside a handler of Once blocks its key; 30 s when zero. It is
	// renewed each third of it while the handler runs. A store of NewLeases has no such handlers:
	// leave it zero.
	Lease time.Duration
}

func (c Config) validate() error {
	if c.Lease != 0 && c.Lease < 10*time.Millisecond {
		return fmt.Errorf("redisidempotency: Config.Lease is %v; use at least 10 ms, or 0 for 30 s", c.Lease)
	}
	if c.TTL != 0 && c.TTL < time.Second {
		return fmt.Errorf("redisidempotency: Config.TTL is %v; use at least a second, or 0 for 7 days", c.TTL)
	}
	return nil
}

const (
	maxKey = 255
	week   = 7 * 24 * time.Hour
)

// named returns the Redis key of an idempotency key.
func named(prefix, key string) string {
	const tail = 1 + 2*sha256.Size
	// A key that looks like the name of a longer key is hashed too; otherwise a crafted key
	// could collide with the longer one.
	if len(key) < maxKey || len(key) == maxKey && key[maxKey-tail] != '~' {
		return prefix + key
	}
	sum := sha256.Sum256([]byte(key))
	return prefix + key[:maxKey-tail] + "~" + hex.EncodeToString(sum[:])
}
