package redisqueue_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/redisqueue"
)

func TestNew(t *testing.T) {
	if _, err := redisqueue.New(nil, redisqueue.Config{}); err == nil {
		t.Error("a nil client was accepted")
	}
	client := open(t, "redis://127.0.0.1:1")
	for _, o := range []redis.UniversalOptions{
		{}, {ContextTimeoutEnabled: true}, {MaxRetries: -1},
		{IsClusterMode: true}, {IsClusterMode: true, ContextTimeoutEnabled: true, MaxRetries: 2},
	} {
		o.Addrs = []string{"127.0.0.1:1"}
		c := redis.NewUniversalClient(&o)
		if _, err := redisqueue.New(c, redisqueue.Config{}); err == nil {
			t.Errorf("a client with %+v was accepted", o)
		}
		assert.NoError(t, c.Close())
	}
	for _, bad := range []string{"{a}", "a}", "a b", "a\n", "\xff", strings.Repeat("a", 101)} {
		if _, err := redisqueue.New(client, redisqueue.Config{Prefix: bad}); err == nil {
			t.Errorf("the prefix %q was accepted", bad)
		}
	}
	for _, good := range []string{"", "shop:", "공연:", strings.Repeat("a", 100)} {
		_, err := redisqueue.New(client, redisqueue.Config{Prefix: good})
		assert.NoError(t, err, "the prefix %q", good)
	}
}

// An event is the hash tag of its keys.
func TestEventNames(t *testing.T) {
	s := newStore(t, open(t, "redis://127.0.0.1:1"), "")
	for _, bad := range []string{"", "{a}", "a}", "a b", "a\n", "\xff", strings.Repeat("a", 257)} {
		if _, err := s.Visit(t.Context(), bad, rulesOf(1), driver.Beats{}, nil); fault.Of(err) != fault.Permanent {
			t.Errorf("the event %q: %v", bad, err)
		}
	}
}
