package redisratelimit

import (
	"fmt"
	"strings"
)

// Config is the configuration of [New]. The zero value works.
type Config struct {
	// Name is the name of the budget, and the hash tag of its keys: "rate" by default, hence
	// {rate}:global. Two limiters with one name on one Redis share the budget. Up to 200 bytes
	// without braces, spaces or control characters.
	Name string
}

const maxName = 200

func (c Config) validate() error {
	if len(c.Name) > maxName {
		return fmt.Errorf("redisratelimit: Config.Name has %d bytes; use at most %d", len(c.Name), maxName)
	}
	bad := func(r rune) bool { return r == '{' || r == '}' || r <= ' ' || r == 0x7f || r == '\uFFFD' }
	if i := strings.IndexFunc(c.Name, bad); i >= 0 {
		return fmt.Errorf("redisratelimit: Config.Name %q has a brace, a space or what is no text at byte %d; it is the hash tag of the keys, leave it out", c.Name, i)
	}
	return nil
}

// keys holds the keys of a budget, which are all in one slot of a Cluster.
type keys struct{ buckets, windows []string }

func keysOf(name string) keys {
	tag := "{" + name + "}:"
	return keys{
		buckets: []string{tag + "global", tag + "low_cap", tag + "day"},
		windows: []string{tag + "window", tag + "low_window", tag + "day"},
	}
}
