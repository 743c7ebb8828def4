package redissse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/batch"
	"github.com/millrace-go/millrace/sse/driver"
)

// connections is a [driver.Cap] in Redis or a Redis Cluster, by Redis' own clock.
type connections struct {
	client   redis.UniversalClient
	keys     keys
	skew     time.Duration
	scripts  scripts
	register *batch.Combiner[string, struct{}]
	extra    func() []any // more arguments, for tests
}

var _ driver.Cap = (*connections)(nil)

func newCap(client redis.UniversalClient, cfg Config) *connections {
	skew := cfg.Skew
	if _, cluster := client.(*redis.ClusterClient); cluster && skew == 0 {
		skew = time.Second
	}
	c := &connections{client: client, keys: keys{cfg.Prefix}, skew: skew, scripts: newScripts(func(text string) string { return text })}
	c.register = batch.New(driver.MaxConns, registerWithin, c.add)
	return c
}

// Renew keeps the lease of an instance; see [driver.Cap].
func (c *connections) Renew(ctx context.Context, instance string, lease time.Duration) (driver.Live, error) {
	const what = "renew the lease"
	if err := checkInstance(what, instance); err != nil {
		return driver.Live{}, err
	}
	if lease < time.Millisecond {
		return driver.Live{}, bad(what, "the lease is %v; give at least 1 ms", lease)
	}
	answer, err := c.run(ctx, c.scripts.renew, []string{c.keys.instances()}, instance, ms(lease)).Slice()
	if err != nil {
		return driver.Live{}, c.failed(what, err)
	}
	if len(answer) == 2 {
		now, ok := answer[0].(int64)
		names, listed := answer[1].([]any)
		if ok && listed {
			return live(time.UnixMilli(now-c.skew.Milliseconds()), names), nil
		}
	}
	return driver.Live{}, c.failed(what, errAnswer)
}

func live(at time.Time, names []any) driver.Live {
	l := driver.Live{At: at, Instances: make([]string, 0, len(names))}
	for _, name := range names {
		l.Instances = append(l.Instances, fmt.Sprint(name))
	}
	return l
}

// Resign ends the lease of an instance; see [driver.Cap].
func (c *connections) Resign(ctx context.Context, instance string) error {
	const what = "resign"
	if err := checkInstance(what, instance); err != nil {
		return err
	}
	if err := c.client.ZRem(ctx, c.keys.instances(), instance).Err(); err != nil {
		return c.failed(what, err)
	}
	return nil
}

var errAnswer = errors.New("the script's answer is not as expected; is it of another version?")

func (c *connections) failed(what string, err error) error {
	p := c.keys.prefix
	return failed(what, "+evalsha +eval +time +exists +pexpire +zadd +zrem +zcard +zscore +zrange +zrevrange +zrangebylex +zremrangebyscore +zremrangebyrank +hset +hget +hdel +hgetall +hvals on the keys "+
		p+"sse:notification:{*, "+p+"sse:instances and "+p+"sse:members", err)
}

// ms rounds up, so that a duration shorter than a millisecond does not become zero.
func ms(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
