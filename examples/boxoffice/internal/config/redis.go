package config

import (
	"strings"

	"github.com/millrace-go/millrace/redisclient"
)

const (
	// EmbeddedRedis keeps in the process the state that Redis keeps for several.
	EmbeddedRedis = "embedded://"
	// NoRedis runs without Redis and the parts that need it: artists are not mirrored.
	// The waiting room is then in the memory of the one process that has the roles api
	// and admitter.
	NoRedis = "off"

	// MaxWorkers is how many processes can share the limit of the artists' API: each
	// takes one of the calls between the used ones and the limit.
	MaxWorkers = 16

	maxPrefix = 100
)

// Mirrors reports whether artists are mirrored.
func (c Config) Mirrors() bool { return c.RedisURL != NoRedis }

// RoomInMemory reports whether the waiting room is in this process alone.
func (c Config) RoomInMemory() bool { return c.RedisURL == NoRedis || c.RedisURL == EmbeddedRedis }

// checkRedis reports the mistakes in the settings of Redis.
func (c Config) checkRedis(bad func(env, format string, args ...any)) {
	const env = "BOXOFFICE_REDIS_URL"
	if len(c.RedisPrefix) > maxPrefix || strings.ContainsFunc(c.RedisPrefix, unfit) {
		bad("BOXOFFICE_REDIS_PREFIX", "use at most %d letters, digits and -_.:", maxPrefix)
	}
	switch c.RedisURL {
	case NoRedis:
		if c.Has(RoleAPI) != c.Has(RoleAdmitter) {
			bad(env, "this process has only the roles %s, and without Redis the waiting room is in the memory of the process that serves it; use one redis:// URL for all processes, or give one process, and no other, both roles api and admitter",
				strings.Join(c.Roles, ", "))
		}
		return
	case EmbeddedRedis:
		// The API, the workers and the admitter share its state; no other role needs it.
		if c.Has(RoleAPI) != c.Has(RoleWorker) || c.Has(RoleAPI) != c.Has(RoleAdmitter) {
			bad(env, "this process has only the roles %s, and %s keeps in each process what the roles api, worker and admitter share; use one redis:// URL for all of them, or set BOXOFFICE_ROLES=all, or %s=%s with the roles api and admitter in one process, to do without artists",
				strings.Join(c.Roles, ", "), EmbeddedRedis, env, NoRedis)
		}
		if c.Workers > 1 {
			bad("BOXOFFICE_WORKERS", "%d processes cannot share a limit that %s=%s keeps in each; use one redis:// URL for all of them, or 1", c.Workers, env, EmbeddedRedis)
		}
		return
	}
	scheme, _, ok := strings.Cut(c.RedisURL, "://")
	if !ok {
		bad(env, "the URL has no scheme; write for example redis://127.0.0.1:6379/0")
		return
	}
	if scheme != "redis" && scheme != "rediss" {
		bad(env, "unknown scheme %q; known are: embedded, redis, rediss, and %s", scheme, NoRedis)
		return
	}
	client, err := redisclient.Open(c.RedisURL, redisclient.Config{}) // connects to nothing
	if err == nil {
		err = client.Close()
	}
	if err != nil {
		bad(env, "%v", err)
	}
}

func unfit(c rune) bool {
	return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_.:", c))
}
