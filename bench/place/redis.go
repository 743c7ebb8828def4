package place

import (
	"context"
	"errors"

	"github.com/millrace-go/millrace/internal/redisdb"
)

// SweepRedis deletes the keys that begin with a prefix.
func SweepRedis(ctx context.Context, url, prefix string) (err error) {
	client, err := redisdb.Open(url, redisdb.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	keys := client.Scan(ctx, 0, prefix+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
			return err
		}
	}
	return keys.Err()
}
