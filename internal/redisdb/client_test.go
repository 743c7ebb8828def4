package redisdb_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
)

// Clients of our own pass; of others, those that wait or repeat do not.
func TestCheckClient(t *testing.T) {
	for _, url := range []string{"redis://a", "redis://a,b"} {
		if err := redisdb.CheckClient(open(t, url, redisdb.Config{})); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for want, opts := range map[string]redis.UniversalOptions{
		"ContextTimeoutEnabled: true": {MaxRetries: -1},
		"MaxRetries: -1":              {ContextTimeoutEnabled: true, MaxRetries: 2},
	} {
		for _, addrs := range [][]string{{"a:1"}, {"a:1", "b:1"}} {
			opts.Addrs = addrs
			client := redis.NewUniversalClient(&opts)
			t.Cleanup(func() { client.Close() }) //nolint:errcheck // it never connected
			if err := redisdb.CheckClient(client); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: got %v, want %q in it", addrs, err, want)
			}
		}
	}
}
