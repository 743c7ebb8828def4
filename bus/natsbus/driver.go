package natsbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// prepareTimeout bounds the start before the first Publish.
const prepareTimeout = 30 * time.Second

// driver is the bus on a NATS server or a cluster of them.
type driver struct {
	logdriver.Admin

	cfg     Config
	servers string
	log     *streamLog
	hub     *logdriver.Hub
	bell    *logdriver.Bell

	started *kit.Lazy[context.CancelFunc] // ends the background work
	running sync.WaitGroup

	mu       sync.Mutex
	followed map[string]bool

	closeOnce sync.Once
	closeErr  error
}

var (
	_ bus.Driver            = (*driver)(nil)
	_ busdriver.Pinger      = (*driver)(nil)
	_ busdriver.Lagger      = (*driver)(nil)
	_ busdriver.TopicFinder = (*driver)(nil)
	_ busdriver.Inspector   = (*driver)(nil)
	_ busdriver.Pender      = (*driver)(nil)
)

// open makes a driver and does not connect; see start.
func open(servers string, cfg Config) (*driver, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Replicas == 0 {
		cfg.Replicas = 1
	}
	l := &link{names: names(cfg.Prefix)}
	r := newRegistry()
	dir := &directory{link: l, registry: r, replicas: cfg.Replicas}
	d := &driver{
		cfg: cfg, servers: servers, followed: make(map[string]bool),
		log: &streamLog{link: l, registry: r, directory: dir, held: make(map[logdriver.Cursor]heldCursor)},
	}
	d.bell = logdriver.NewBell(tick, d.log.wakeOthers)
	var err error
	d.hub, err = logdriver.New(logdriver.Backend{
		Log: d.log, Directory: dir, Append: d.log.append, Begin: d.log.begin, Announce: d.bell.Ring, Classify: classify, Headers: headers{},
	}, logdriver.Config{
		Partitions: cfg.Partitions, Retention: cfg.Retention, LeaseTTL: cfg.LeaseTTL, PollInterval: cfg.PollInterval,
		Holder: cfg.Holder, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, translate(err)
	}
	d.Admin = logdriver.NewAdmin(d.hub, d.ready, translate)
	d.started = kit.NewLazy(logdriver.ErrClosed, d.start)
	return d, nil
}

// start connects at the first use, creates the bucket of cursors and members, and begins
// the background work. It returns the function that ends that work.
func (d *driver) start(ctx context.Context) (context.CancelFunc, error) {
	if err := d.log.connect(ctx, d.servers, d.cfg.Options, d.cfg.Logger); err != nil {
		return nil, err
	}
	if err := errors.Join(d.log.makeBucket(ctx, d.cfg.Replicas), d.hear()); err != nil {
		d.log.close()
		return nil, refused(err)
	}
	run, stop := context.WithCancel(context.Background())
	d.running.Go(func() { d.hub.Run(run) }) //nolint:errcheck // it returns nil
	d.running.Go(func() { d.bell.Run(run, d.cfg.Logger) })
	d.running.Go(func() { d.log.watch(run, d.hub) })
	return stop, nil
}

func (d *driver) ready(ctx context.Context) error {
	_, err := d.started.Get(ctx)
	return translate(err)
}

// Ping implements driver.Pinger.
func (d *driver) Ping(ctx context.Context) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	_, err := d.log.now(ctx)
	return translate(err)
}

// Capabilities implements bus.Driver.
func (d *driver) Capabilities() bus.Capabilities {
	return bus.Capabilities{Durable: true, OrderedPerKey: true, ConsumerGroups: true, Replay: true, Broadcast: true}
}

// Publisher implements bus.Driver.
func (d *driver) Publisher() message.Publisher { return publisher{d.hub.Publisher(), d} }

// Source implements bus.Driver.
func (d *driver) Source(ctx context.Context, topic, group string, window int) (busdriver.Source, error) {
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	if err := d.follow(topic); err != nil {
		return nil, translate(err)
	}
	s, err := d.hub.Source(ctx, topic, group, window)
	if err != nil {
		return nil, translate(err)
	}
	return source{s}, nil
}

// Declare implements bus.Driver.
func (d *driver) Declare(ctx context.Context, topics ...bus.Topic) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	for _, t := range topics {
		if t.Replication != 0 {
			d.log.directory.declared.Store(t.Name, t.Replication)
		}
		err := d.hub.Declare(ctx, logdriver.Spec{Name: t.Name, Partitions: t.Partitions, Retention: t.Retention, Groups: t.Groups})
		if err != nil {
			return translate(err)
		}
	}
	return nil
}

// Lag implements driver.Lagger. A partition's backlog is reported up to 10,000.
func (d *driver) Lag(ctx context.Context) ([]bus.Lag, error) {
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
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

// HasTopic implements driver.TopicFinder.
func (d *driver) HasTopic(ctx context.Context, name string) (bool, error) {
	_, ok, err := d.topic(ctx, name)
	return ok, err
}

func (d *driver) topic(ctx context.Context, name string) (logdriver.Topic, bool, error) {
	if err := d.ready(ctx); err != nil {
		return logdriver.Topic{}, false, err
	}
	s, err := d.log.directory.find(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return logdriver.Topic{}, false, nil
	}
	t := logdriver.Topic{}
	if err == nil {
		t, err = d.log.directory.topicOf(s)
	}
	return t, err == nil, translate(err)
}

// Topics implements driver.TopicFinder.
func (d *driver) Topics(ctx context.Context) ([]string, error) {
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	names, err := d.hub.Topics(ctx)
	return names, translate(err)
}

// Browse implements driver.Inspector. Partitions share the sequences of their stream, so all
// messages are in the order in which they were stored.
func (d *driver) Browse(ctx context.Context, topic string, limit int) ([]*message.Message, error) {
	_, ok, err := d.topic(ctx, topic)
	if err != nil || !ok || limit <= 0 {
		return nil, err
	}
	all, err := d.log.newest(ctx, topic, limit)
	if err != nil {
		return nil, translate(fmt.Errorf("browse %s: %w", topic, err))
	}
	return messagesOf(all), nil
}

// Pending implements driver.Pender: it reads as the group would, without a lease.
func (d *driver) Pending(ctx context.Context, name, group string, limit int) ([]*message.Message, error) {
	topic, ok, err := d.topic(ctx, name)
	if err != nil || !ok || limit <= 0 {
		return nil, err
	}
	var all []found
	for i := range topic.Partitions {
		at, err := d.log.directory.position(ctx, logdriver.Cursor{Consumer: group, Lane: topic.FirstLane + i})
		if err == nil {
			var some []found
			some, err = d.log.collect(ctx, name, d.log.subject(name, i), at+1, limit)
			all = append(all, some...)
		}
		if err != nil {
			return nil, translate(fmt.Errorf("pending of %s in %s: %w", group, name, err))
		}
	}
	slices.SortFunc(all, func(a, b found) int { return int(a.seq - b.seq) })
	return messagesOf(all[:min(limit, len(all))]), nil
}

// Close implements bus.Driver: it ends sources and publisher, the background work, and the
// connection.
func (d *driver) Close() error {
	d.closeOnce.Do(func() {
		d.closeErr = translate(d.hub.Close())
		if stop, ok := d.started.Close(); ok {
			stop()
			d.running.Wait()
			d.log.close()
		}
	})
	return d.closeErr
}
