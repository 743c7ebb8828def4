package redisratelimit_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
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
			if err := client.Del(context.Background(), "{"+n+"}:"+key).Err(); err != nil {
				t.Errorf("remove %s: %v", n, err)
			}
		}
	})
	return n
}

func newStore(t testing.TB, client redis.UniversalClient, name string) driver.Store {
	t.Helper()
	s, err := redisratelimit.New(client, redisratelimit.Config{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
