package rediscounter

import (
	"fmt"
	"strings"
)

// Config is the configuration of [New]. The zero value works.
type Config struct {
	// Prefix is the prefix of all keys: none by default. Stores with one prefix on one Redis
	// share their deltas. Up to 100 bytes without braces, spaces or control characters.
	Prefix string
}

const maxPrefix = 100

func (c Config) validate() error {
	if len(c.Prefix) > maxPrefix {
		return fmt.Errorf("rediscounter: Config.Prefix has %d bytes; use at most %d", len(c.Prefix), maxPrefix)
	}
	bad := func(r rune) bool { return r == '{' || r == '}' || r <= ' ' || r == 0x7f || r == '\uFFFD' }
	if i := strings.IndexFunc(c.Prefix, bad); i >= 0 {
		return fmt.Errorf("rediscounter: Config.Prefix %q has a brace, a space or what is no text at byte %d; it stands before the hash tag of the keys, leave it out", c.Prefix, i)
	}
	return nil
}
