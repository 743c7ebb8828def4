package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/redisclient"
)

// forget removes a box office's keys in Redis under a prefix.
func forget(url, prefix string) (err error) {
	client, err := redisclient.Open(url, redisclient.Config{})
	if err != nil {
		return fmt.Errorf("--redis-url: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	empty := func(ctx context.Context, node redis.Cmdable) error {
		keys := node.Scan(ctx, 0, prefix+"*", 1000).Iterator()
		for keys.Next(ctx) {
			if err := client.Del(ctx, keys.Val()).Err(); err != nil {
				return err
			}
		}
		return keys.Err()
	}
	if cluster, ok := client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return empty(ctx, node) })
	} else {
		err = empty(ctx, client)
	}
	if err != nil {
		err = fmt.Errorf("remove what the box office left in Redis under %s: %w", prefix, err)
	}
	return errors.Join(err, client.Close())
}
