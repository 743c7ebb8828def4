package redisclient_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/counter/rediscounter"
	"github.com/millrace-go/millrace/queue/frontgate/redisgate"
	"github.com/millrace-go/millrace/queue/redisqueue"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
	"github.com/millrace-go/millrace/redisclient"
	"github.com/millrace-go/millrace/sse/redissse"
)

// TestOpen checks that the URL comes from the argument, else from the environment. Open
// connects to no server.
func TestOpen(t *testing.T) {
	for _, c := range []struct{ url, variable, address, want string }{
		{"", "", "", "$MILLRACE_REDIS_URL is empty"},
		{"http://127.0.0.1", "", "", "neither redis nor rediss"},
		{"", "redis://127.0.0.1:6379/0?pool=3", "", `unknown parameter "pool"`},
		{"", "redis://127.0.0.1:6379/0", "127.0.0.1:6379", ""},
		{"redis://127.0.0.1:6379/0", "redis://nowhere.invalid:1/0", "127.0.0.1:6379", ""},
	} {
		t.Setenv("MILLRACE_REDIS_URL", c.variable)
		client, err := redisclient.Open(c.url, redisclient.Config{})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open(%q) with %q: %v, want %q", c.url, c.variable, err, c.want)
		}
		if err != nil {
			continue
		}
		if single, ok := client.(*redis.Client); !ok || single.Options().Addr != c.address {
			t.Errorf("Open(%q) with %q: %v, want %s", c.url, c.variable, client, c.address)
		}
		assert.NoError(t, client.Close())
	}
}

func TestEveryPackageTakesIt(t *testing.T) {
	client, err := redisclient.Open("redis://127.0.0.1:6379/0", redisclient.Config{})
	require.NoError(t, err)
	defer client.Close()
	for name, take := range map[string]func(redis.UniversalClient) error{
		"redisratelimit": func(c redis.UniversalClient) error {
			_, err := redisratelimit.New(c, redisratelimit.Config{})
			return err
		},
		"rediscoalesce": func(c redis.UniversalClient) error {
			_, err := rediscoalesce.New(c, rediscoalesce.Config{})
			return err
		},
		"redisqueue":   func(c redis.UniversalClient) error { _, err := redisqueue.New(c, redisqueue.Config{}); return err },
		"redisgate":    func(c redis.UniversalClient) error { _, err := redisgate.New(c, redisgate.Config{}); return err },
		"redissse":     func(c redis.UniversalClient) error { _, _, err := redissse.New(c, redissse.Config{}); return err },
		"rediscounter": func(c redis.UniversalClient) error { _, err := rediscounter.New(c, rediscounter.Config{}); return err },
	} {
		assert.NoErrorf(t, take(client), "%s", name)
	}
}

func ExampleOpen() {
	client, err := redisclient.Open("redis://127.0.0.1:6379/0", redisclient.Config{})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	store, err := redisqueue.New(client, redisqueue.Config{})
	fmt.Println(store != nil, err)
	// Output: true <nil>
}
