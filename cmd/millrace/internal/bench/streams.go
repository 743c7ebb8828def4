package bench

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
)

// claim reserves keys in Redis if none of them exists: the first is a mark, which expires
// when a run is killed. On a Cluster the keys may have many slots.
func (c Config) claim(ctx context.Context, client redis.UniversalClient, what string, keys []string) error {
	free, err := client.SetNX(ctx, keys[0], "millrace bench", 10*c.Window+time.Minute).Result()
	if err != nil {
		return err
	}
	refused := taken(what, "redis-cli DEL '"+strings.Join(keys, "' '")+"'")
	if !free {
		return refused
	}
	for _, key := range keys[1:] {
		there, err := client.Exists(ctx, key).Result()
		if err == nil && there > 0 {
			err = refused
		}
		if err != nil {
			return errors.Join(err, client.Del(context.WithoutCancel(ctx), keys[0]).Err())
		}
	}
	return nil
}

// release deletes the keys, the mark last.
func release(ctx context.Context, client redis.UniversalClient, keys []string) error {
	for i := range keys {
		if err := client.Unlink(ctx, keys[len(keys)-1-i]).Err(); err != nil {
			return err
		}
	}
	return nil
}

// streamKeys are those of package redisbus for the benchmark's topic and group,
// with the name as prefix.
func (c Config) streamKeys() []string {
	prefix := c.Name + ":"
	keys := []string{prefix + "running", prefix + "millrace:topics", prefix + "millrace:members:{" + c.Name + "}:" + c.Name}
	for i := range lanes {
		stream := fmt.Sprintf("{%s%s:%d}", prefix, c.Name, i)
		keys = append(keys, stream, prefix+"millrace:lease:"+stream+":"+c.Name, prefix+"millrace:starts:"+stream+":"+c.Name)
	}
	return keys
}

// inStreams reserves a topic's keys on a Redis.
func (c Config) inStreams(ctx context.Context, _ string, u *url.URL) (*place, error) {
	// On a client of its own: the transport's is closed by then.
	run := func(do func(redis.UniversalClient) error) error {
		client, err := redisdb.Client(u, redisdb.Config{})
		if err != nil {
			return err
		}
		return errors.Join(do(client), client.Close())
	}
	inside := with(*u, map[string]string{"prefix": c.Name + ":", "partitions": strconv.Itoa(lanes)})
	what := "the keys of the topic " + c.Name
	err := run(func(client redis.UniversalClient) error { return c.claim(ctx, client, what, c.streamKeys()) })
	if err != nil {
		return nil, err
	}
	return &place{url: inside, what: what, remove: func(ctx context.Context) error {
		return run(func(client redis.UniversalClient) error { return release(ctx, client, c.streamKeys()) })
	}}, nil
}
