// Package redistest supports tests on a shared Redis.
package redistest

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Prefix returns a prefix of the test's own in a shared keyspace. Its keys are deleted at the
// end of the test.
func Prefix(t testing.TB, client redis.UniversalClient) string {
	t.Helper()
	p := "t_" + strings.ToLower(rand.Text()) + ":"
	t.Cleanup(func() {
		empty := func(ctx context.Context, node redis.UniversalClient) error {
			keys := node.Scan(ctx, 0, p+"*", 1000).Iterator()
			for keys.Next(ctx) {
				if err := client.Del(ctx, keys.Val()).Err(); err != nil {
					return err
				}
			}
			return keys.Err()
		}
		ctx := context.Background()
		var err error
		if cluster, ok := client.(*redis.ClusterClient); ok {
			err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return empty(ctx, node) })
		} else {
			err = empty(ctx, client)
		}
		if err != nil {
			t.Errorf("empty %s: %v", p, err)
		}
	})
	return p
}
