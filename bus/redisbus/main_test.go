package redisbus_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// TestMain runs the binary as a consumer process when a test asks for one.
func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	if url := os.Getenv("REDISBUS_CONSUME"); url != "" {
		if err := consume(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// silence discards the client's logs about servers that a test has killed.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
