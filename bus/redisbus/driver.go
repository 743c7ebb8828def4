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
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/bus/driver/logdriver"
	"github.com/millrace-go/millrace/bus/driver/rediskit"
	"github.com/millrace-go/millrace/fault"
)

// driver is the bus on one Redis, which Sentinels may name, or on one Cluster.
type driver struct {
	*logdriver.Driver

	client redis.UniversalClient
	owned  bool // the client was opened here, and is closed here

	keys    keys
	log     *streamLog
	watcher *watcher

	plain string // the hosts, if the URL is one without TLS
}

var (
	_ bus.Driver          = (*driver)(nil)
	_ busdriver.Pinger    = (*driver)(nil)
	_ busdriver.Lagger    = (*driver)(nil)
	_ busdriver.Inspector = (*driver)(nil)
	_ busdriver.Pender    = (*driver)(nil)
)

// open makes a driver and does not connect; see start.
func open(u *url.URL, cfg Config) (_ *driver, err error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	d := &driver{client: cfg.Client, keys: keys(cfg.Prefix)}
	if d.client == nil {
		if d.client, err = rediskit.Client(u, rediskit.Config{TLS: cfg.TLS}); err != nil {
			return nil, err
		}
		d.owned = true
		if u.Scheme == "redis" {
			d.plain = u.Host
		}
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("redisbus: %w", errors.Join(err, d.closeClient()))
		}
	}()
	_, single := d.client.(*redis.Client)
	if cfg.Wait > 0 && !single {
		return nil, errors.New("?wait= is not possible on a Redis Cluster; set min-replicas-to-write on its nodes")
	}
	scripts, err := loadScripts()
	if err != nil {
		return nil, err
	}
	registry := newRegistry(d.keys)
	dir := &directory{client: d.client, keys: d.keys, scripts: scripts, registry: registry, logger: cfg.Logger}
	d.log = &streamLog{client: d.client, keys: d.keys, scripts: scripts, registry: registry, directory: dir, cfg: cfg, logger: cfg.Logger}
	d.watcher = newWatcher(context.Background(), d.client, registry, cfg.Logger)
	bell := logdriver.NewBell(tick, d.log.wake)
	d.Driver, err = logdriver.NewDriver(logdriver.Parts{
		Name: "redisbus",
		Backend: logdriver.Backend{
			Log: d.log, Directory: dir, Append: d.log.append, Begin: d.log.begin, Announce: bell.Ring, Classify: rediskit.Classify, Headers: headers{},
		},
		Config: logdriver.Config{
			Partitions: cfg.Partitions, Retention: cfg.Retention, LeaseTTL: cfg.LeaseTTL,
			PollInterval: cfg.PollInterval, Logger: cfg.Logger,
		},
		// This package needs the server's version only.
		Start: func(ctx context.Context) error { return d.hinted(checkVersion(ctx, d.client)) },
		Watch: func(ctx context.Context, hub *logdriver.Hub) {
			var ringing sync.WaitGroup
			ringing.Go(func() { bell.Run(ctx, cfg.Logger) })
			d.watcher.run(ctx, hub)
			ringing.Wait()
		},
		Close: d.closeClient,
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Ping implements driver.Pinger. A Cluster is asked at any of its nodes.
func (d *driver) Ping(ctx context.Context) error {
	return d.Translate(d.hinted(d.client.Ping(ctx).Err()))
}

// hinted adds the likely cause when the server closed the connection without an answer.
func (d *driver) hinted(err error) error {
	if d.plain == "" || !errors.Is(err, io.EOF) {
		return err
	}
	return kit.PlainHint(err, d.plain, "rediss://")
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

// Source implements bus.Driver.
func (d *driver) Source(ctx context.Context, topic, group string, window int) (busdriver.Source, error) {
	if err := d.Ready(ctx); err != nil {
		return nil, err
	}
	if checkTopic(topic) == nil {
		d.watcher.follow(ctx, topic)
	}
	return d.Driver.Source(ctx, topic, group, window)
}

func (d *driver) closeClient() error {
	if !d.owned {
		return nil
	}
	return d.client.Close()
}
