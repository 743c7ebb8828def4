package rediscounter_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/rediscounter"
	"github.com/millrace-go/millrace/internal/redistest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(redistest.Silence{})
	goleak.VerifyTestMain(m)
}

var (
	open    = redistest.Open
	servers = redistest.Servers
)

func newStore(t testing.TB, client redis.UniversalClient, prefix string) driver.Store {
	t.Helper()
	s, err := rediscounter.New(client, rediscounter.Config{Prefix: prefix})
	require.NoError(t, err)
	return s
}
