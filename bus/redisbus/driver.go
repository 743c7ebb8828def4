package redisbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/bus/driver/logdriver"
	"github.com/millrace-go/millrace/bus/driver/rediskit"
	"github.com/millrace-go/millrace/fault"
)

// open makes a driver and does not connect.
func open(u *url.URL, cfg Config) (_ *logdriver.Driver, err error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	c := &connection{UniversalClient: cfg.Client}
	if c.UniversalClient == nil {
		if c.UniversalClient, err = rediskit.Client(u, rediskit.Config{TLS: cfg.TLS}); err != nil {
			return nil, err
		}
		c.owned = true
		if u.Scheme == "redis" {
			c.plain = u.Host
		}
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("redisbus: %w", errors.Join(err, c.close()))
		}
	}()
	_, single := c.UniversalClient.(*redis.Client)
	if cfg.Wait > 0 && !single {
		return nil, errors.New("?wait= is not possible on a Redis Cluster; set min-replicas-to-write on its nodes")
	}
	scripts, err := loadScripts()
	if err != nil {
		return nil, err
	}
	s := &store{client: c.UniversalClient, keys: keys(cfg.Prefix), scripts: scripts, cfg: cfg, logger: cfg.Logger}
	return logdriver.NewDriver(logdriver.Parts{
		Name: "redisbus",
		Backend: logdriver.Backend{
			Log: s, Directory: s, Append: s.append, TopicsApart: true, Classify: rediskit.Classify, Headers: headers{},
			Begin: func(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) },
		},
		Config: logdriver.Config{
			Partitions: cfg.Partitions, Retention: cfg.Retention, LeaseTTL: cfg.LeaseTTL,
			PollInterval: cfg.PollInterval, Logger: cfg.Logger,
		},
		Start: func(ctx context.Context) error {
			if err := checkVersion(ctx, c); err != nil {
				return c.hinted(err)
			}
			s.pubsub = c.Subscribe(context.WithoutCancel(ctx))
			return nil
		},
		Ping:  func(ctx context.Context) error { return c.hinted(c.Ping(ctx).Err()) }, // any node of a Cluster
		Watch: s.watch, Follow: s.follow, Wake: s.wake, Tick: tick, Newest: s.newest, Ahead: s.ahead, Close: c.close,
	})
}

// connection is one Redis, which Sentinels may name, or one Cluster.
type connection struct {
	redis.UniversalClient
	owned bool   // it was opened here, and is closed here
	plain string // the hosts, if the URL is one without TLS
}

// hinted adds the likely cause when the server closed the connection without an answer.
func (c *connection) hinted(err error) error {
	if c.plain == "" || !errors.Is(err, io.EOF) {
		return err
	}
	return kit.PlainHint(err, c.plain, "rediss://")
}

func (c *connection) close() error {
	if !c.owned {
		return nil
	}
	return c.Close()
}

// checkVersion refuses a Redis whose streams do not count their entries.
func checkVersion(ctx context.Context, client redis.UniversalClient) error {
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	for line := range strings.Lines(info) {
		version, ok := strings.CutPrefix(strings.TrimSpace(line), "redis_version:")
		if !ok {
			continue
		}
		major, _, _ := strings.Cut(version, ".")
		if n, err := strconv.Atoi(major); err == nil && n < 7 {
			return fault.MarkPermanent(fmt.Errorf("the server is Redis %s; 7.0 or later is needed", version))
		}
	}
	return nil
}
