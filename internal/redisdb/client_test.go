package redisdb_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/counter/rediscounter"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/queue/frontgate/redisgate"
	"github.com/millrace-go/millrace/queue/redisqueue"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
	"github.com/millrace-go/millrace/sse/redissse"
)

const (
	waits   = "ContextTimeoutEnabled is false, so a call outlasts the deadline of its context"
	repeats = "MaxRetries is 3, so a call that may have been carried out is sent again"
)

// Our own clients pass; other clients that wait or repeat do not, and the error names all their
// wrong settings.
func TestCheckClient(t *testing.T) {
	for _, url := range []string{"redis://a", "redis://a,b", "redis://a,b?master=m"} {
		assert.NoErrorf(t, redisdb.CheckClient(open(t, url, redisdb.Config{})), "%s", url)
	}
	for want, opts := range map[string]redis.UniversalOptions{
		waits + "; make the client by redisclient.Open, or with ContextTimeoutEnabled: true": {MaxRetries: -1},
		repeats + "; make the client by redisclient.Open, or with MaxRetries: -1":            {ContextTimeoutEnabled: true},
		waits + "; " + repeats + "; make the client by redisclient.Open, or with ContextTimeoutEnabled: true, MaxRetries: -1": {
			MaxRetries: 3, // the default of a Cluster is -1
		},
	} {
		for _, addrs := range [][]string{{"a:1"}, {"a:1", "b:1"}} {
			if opts.Addrs = addrs; opts.MaxRetries == 0 {
				opts.MaxRetries = 3
			}
			if err := redisdb.CheckClient(universal(t, opts)); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%v: got %v, want %q at its end", addrs, err, want)
			}
		}
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "a:1"}})
	t.Cleanup(func() { ring.Close() }) //nolint:errcheck // it never connected
	if err := redisdb.CheckClient(ring); err == nil || !strings.Contains(err.Error(), waits) {
		t.Errorf("a ring: %v", err)
	}
}

func universal(t *testing.T, opts redis.UniversalOptions) redis.UniversalClient {
	t.Helper()
	client := redis.NewUniversalClient(&opts)
	t.Cleanup(func() { client.Close() }) //nolint:errcheck // it never connected
	return client
}

// Each package that keeps its state in Redis reports the same errors of a default client, all of
// them in one message.
func TestEveryPackageChecksItsClient(t *testing.T) {
	client := universal(t, redis.UniversalOptions{Addrs: []string{"a:1"}})
	said := redisdb.CheckClient(client).Error()
	if !strings.Contains(said, waits) || !strings.Contains(said, repeats) {
		t.Fatalf("of a default client: %s", said)
	}
	second := func(_ any, err error) error { return err }
	third := func(_, _ any, err error) error { return err }
	for name, err := range map[string]error{
		"redisratelimit": second(redisratelimit.New(client, redisratelimit.Config{})),
		"rediscoalesce":  second(rediscoalesce.New(client, rediscoalesce.Config{})),
		"redisqueue":     second(redisqueue.New(client, redisqueue.Config{})),
		"redisgate":      second(redisgate.New(client, redisgate.Config{})),
		"rediscounter":   second(rediscounter.New(client, rediscounter.Config{})),
		"redissse":       third(redissse.New(client, redissse.Config{})),
	} {
		if err == nil || err.Error() != name+": "+said {
			t.Errorf("%s says %q, want %q", name, err, name+": "+said)
		}
	}
}
