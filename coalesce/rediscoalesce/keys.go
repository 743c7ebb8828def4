package rediscoalesce

import (
	"errors"
	"strings"
)

// Config is the configuration of [New]. The zero value works.
type Config struct {
	// Prefix of the Redis keys; "upd:" when empty. It must not contain a brace,
	// because the key's id is the hash tag.
	Prefix string
}

func (c Config) validate() error {
	if strings.ContainsAny(c.Prefix, "{}") {
		return errors.New("rediscoalesce: Config.Prefix contains a brace, which would break the hash tag of the keys; use another character")
	}
	return nil
}

// escape makes ids free of the closing brace of the hash tag, each distinct from every other.
var escape = strings.NewReplacer("%", "%25", "}", "%7D").Replace

// names holds the Redis keys of one id. The tag puts them into one slot of a Cluster.
type names struct{ lock, version, again string }

func (s *store) names(id string) names {
	tag := s.prefix + "{" + escape(id) + "}"
	return names{lock: tag + ":lock", version: tag + ":ver", again: tag + ":again"}
}
