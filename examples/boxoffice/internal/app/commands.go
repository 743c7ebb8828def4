package app

import (
	"context"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// commands measures the calls of Redis, failed ones too.
type commands struct{ took prometheus.Histogram }

func newCommands() *commands {
	return &commands{prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "redis_command_duration_seconds", Help: "Calls of Redis.",
		Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1},
	})}
}

// DialHook implements redis.Hook.
func (c *commands) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements redis.Hook.
func (c *commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		began := time.Now()
		defer func() { c.took.Observe(time.Since(began).Seconds()) }()
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (c *commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		began := time.Now()
		defer func() { c.took.Observe(time.Since(began).Seconds()) }()
		return next(ctx, cmds)
	}
}
