package redisbus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
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
	logdriver.Admin

	client redis.UniversalClient
	owned  bool // the client was opened here, and is closed here

	keys    keys
	hub     *logdriver.Hub
	log     *streamLog
	watcher *watcher
	bell    *logdriver.Bell

	plain   string                        // the hosts, if the URL is one without TLS
	started *kit.Lazy[context.CancelFunc] // ends the background work
	running sync.WaitGroup

	closeOnce sync.Once
	closeErr  error
}

var (
	_ bus.Driver    = (*driver)(nil)
	_ bus.Pinger    = (*driver)(nil)
	_ bus.Lagger    = (*driver)(nil)
	_ bus.Inspector = (*driver)(nil)
	_ bus.Pender    = (*driver)(nil)
)

// open makes a driver and does not connect; see start.
func open(u *url.URL, cfg Config) (_ *driver, err error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
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
			err = translate(errors.Join(err, d.closeClient()))
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
	d.bell = logdriver.NewBell(tick, d.log.wake)
	d.hub, err = logdriver.New(logdriver.Backend{
		Log: d.log, Directory: dir, Append: d.log.append, Begin: d.log.begin, Announce: d.bell.Ring, Classify: rediskit.Classify, Headers: headers{},
	}, logdriver.Config{
		Partitions: cfg.Partitions, Retention: cfg.Retention, LeaseTTL: cfg.LeaseTTL,
		PollInterval: cfg.PollInterval, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	d.Admin = logdriver.NewAdmin(d.hub, d.ready, translate)
	d.watcher = newWatcher(context.Background(), d.client, registry, cfg.Logger)
	d.started = kit.NewLazy(logdriver.ErrClosed, d.start)
	return d, nil
}

// start checks, at the first use, that this package can use the server, and begins the
// background work. It returns the function that ends that work.
func (d *driver) start(ctx context.Context) (context.CancelFunc, error) {
	if err := checkVersion(ctx, d.client); err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.Background())
	d.running.Go(func() { d.hub.Run(run) }) //nolint:errcheck // it returns nil
	d.running.Go(func() { d.bell.Run(run, d.log.logger) })
	d.running.Go(func() { d.watcher.run(d.hub) })
	return stop, nil
}

func (d *driver) ready(ctx context.Context) error {
	_, err := d.started.Get(ctx)
	return translate(d.hinted(err))
}

// Ping implements bus.Pinger. A Cluster is asked at any of its nodes.
func (d *driver) Ping(ctx context.Context) error {
	return translate(d.hinted(d.client.Ping(ctx).Err()))
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

func (d *driver) Capabilities() bus.Capabilities {
	return bus.Capabilities{Durable: true, OrderedPerKey: true, ConsumerGroups: true, Replay: true, Broadcast: true}
}

func (d *driver) Publisher() message.Publisher { return publisher{d.hub.Publisher(), d} }

// Source implements bus.Driver.
func (d *driver) Source(ctx context.Context, topic, group string, window int) (busdriver.Source, error) {
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	if checkTopic(topic) == nil {
		d.watcher.follow(ctx, topic)
	}
	s, err := d.hub.Source(ctx, topic, group, window)
	if err != nil {
		return nil, translate(err)
	}
	return source{s}, nil
}

func (d *driver) Declare(ctx context.Context, topics ...bus.Topic) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	for _, t := range topics {
		// Replication is configured on the server.
		err := d.hub.Declare(ctx, logdriver.Spec{Name: t.Name, Partitions: t.Partitions, Retention: t.Retention, Groups: t.Groups})
		if err != nil {
			return translate(err)
		}
	}
	return nil
}

// Lag implements bus.Lagger. A partition's backlog is counted up to 10,000.
func (d *driver) Lag(ctx context.Context) ([]bus.Lag, error) {
	all, err := d.hub.Lag(ctx)
	if err != nil {
		return nil, translate(err)
	}
	out := make([]bus.Lag, len(all))
	for i, l := range all {
		out[i] = bus.Lag(l)
	}
	return out, nil
}

// HasTopic implements bus.TopicFinder.
func (d *driver) HasTopic(ctx context.Context, name string) (bool, error) {
	_, ok, err := d.hub.Topic(ctx, name)
	return ok, translate(err)
}

// Topics implements bus.TopicFinder.
func (d *driver) Topics(ctx context.Context) ([]string, error) {
	names, err := d.hub.Topics(ctx)
	return names, translate(err)
}

// Close ends subscribers and publisher, the background work, and the client that Open opened.
func (d *driver) Close() error {
	d.closeOnce.Do(func() {
		err := d.hub.Close()
		if stop, ok := d.started.Close(); ok {
			stop()
		}
		err = errors.Join(err, d.watcher.close())
		d.running.Wait()
		d.closeErr = translate(errors.Join(err, d.closeClient()))
	})
	return d.closeErr
}

func (d *driver) closeClient() error {
	if !d.owned {
		return nil
	}
	return d.client.Close()
}
