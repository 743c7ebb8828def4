package redisratelimit

import "github.com/millrace-go/millrace/internal/redisdb"

// Config is the configuration of [New]. The zero value works.
type Config struct {
	// Name is the name of the budget, and the hash tag of its keys: "rate" by default, hence
	// {rate}:global. Two limiters with one name on one Redis share the budget. Up to 200 bytes
	// without braces, spaces or control characters.
	Name string
}

func (c Config) validate() error {
	return redisdb.CheckName("redisratelimit: Config.Name", c.Name, 200, "is the hash tag")
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
