package redisratelimit_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

func TestMain(m *testing.M) {
	redis.SetLogger(redistest.Silence{})
	goleak.VerifyTestMain(m)
}

var (
	open    = redistest.Open
	servers = redistest.Servers
)

// name returns the test's own budget on a shared server; it is removed at the test's end.
func name(t testing.TB, client redis.UniversalClient) string {
	t.Helper()
	n := "t_" + strings.ToLower(rand.Text())
	t.Cleanup(func() {
		for _, key := range []string{"global", "low_cap", "day", "window", "low_window"} {
			assert.NoErrorf(t, client.Del(context.Background(), "{"+n+"}:"+key).Err(), "remove %s", n)
		}
	})
	return n
}

func newStore(t testing.TB, client redis.UniversalClient, name string) driver.Store {
	t.Helper()
	s, err := redisratelimit.New(client, redisratelimit.Config{Name: name})
	require.NoError(t, err)
	return s
}
