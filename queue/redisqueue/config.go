package redisqueue

import (
	"fmt"
	"strings"
)

// Config of a store. The zero value works.
type Config struct {
	// Prefix stands before all keys: nothing by default. Stores with one prefix on
	// one Redis share their rooms. Up to 100 bytes without braces, spaces or control
	// characters.
	Prefix string
}

const (
	maxPrefix = 100
	maxEvent  = 256
)

func (c Config) validate() error {
	if len(c.Prefix) > maxPrefix {
		return fmt.Errorf("redisqueue: Config.Prefix has %d bytes; use at most %d", len(c.Prefix), maxPrefix)
	}
	if i := unfit(c.Prefix); i >= 0 {
		return fmt.Errorf("redisqueue: Config.Prefix %q has a brace, a space or what is no text at byte %d; it stands before the hash tag of the keys, leave it out", c.Prefix, i)
	}
	return nil
}

// unfit is the index of the first byte that cannot be in a key, -1 without one.
func unfit(text string) int {
	bad := func(r rune) bool { return r == '{' || r == '}' || r <= ' ' || r == 0x7f || r == '\uFFFD' }
	return strings.IndexFunc(text, bad)
}
