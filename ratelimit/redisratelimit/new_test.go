package redisratelimit_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

func TestNew(t *testing.T) {
	if _, err := redisratelimit.New(nil, redisratelimit.Config{}); err == nil {
		t.Error("a nil client was accepted")
	}
	client := open(t, "redis://127.0.0.1:1")
	for _, o := range []redis.UniversalOptions{
		{}, {ContextTimeoutEnabled: true}, {MaxRetries: -1},
		{IsClusterMode: true}, {IsClusterMode: true, ContextTimeoutEnabled: true, MaxRetries: 2},
	} {
		o.Addrs = []string{"127.0.0.1:1"}
		c := redis.NewUniversalClient(&o)
		if _, err := redisratelimit.New(c, redisratelimit.Config{}); err == nil {
			t.Errorf("a client with %+v was accepted", o)
		}
		c.Close()
	}
	for _, bad := range []string{"{a}", "a}", "a b", "a\n", "\xff", strings.Repeat("a", 201)} {
		if _, err := redisratelimit.New(client, redisratelimit.Config{Name: bad}); err == nil {
			t.Errorf("the name %q was accepted", bad)
		}
	}
	for _, good := range []string{"", "rate", "künstler:1", strings.Repeat("a", 200)} {
		_, err := redisratelimit.New(client, redisratelimit.Config{Name: good})
		assert.NoError(t, err, "the name %q", good)
	}
}
