package place

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
)

// RoomPrefix stands before the keys of an event's waiting room and front gate on a Redis that
// others use: an admitter serves all events behind its prefix, by its own threshold.
func RoomPrefix(event string) string { return event + ":" }

// SweepRedis deletes the keys that begin with a prefix, of a Redis Cluster those of
// every node.
func SweepRedis(ctx context.Context, url, prefix string) (err error) {
	client, err := redisdb.Open(url, redisdb.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	sweep := func(ctx context.Context, node redis.Cmdable) error {
		keys := node.Scan(ctx, 0, prefix+"*", 1000).Iterator()
		for keys.Next(ctx) {
			if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
				return err
			}
		}
		return keys.Err()
	}
	if cluster, ok := client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return sweep(ctx, node) })
	}
	return sweep(ctx, client)
}
