package natsbus

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// store is logdriver's Log and Directory on JetStream: a topic is a stream, its partitions are
// subjects, and a Position is a sequence of the stream. All else is in the KV bucket: each
// change of a key there names the revision that it replaces.
type store struct {
	*link
	replicas int
	lanes    logdriver.Lanes
	created  sync.Map // from topic to the time.Time at which its stream was created
	held     sync.Map // from logdriver.Cursor to its kept[cursor], as this process wrote it last
	writes   *logdriver.Writes[edit]
}

var (
	_ logdriver.Log       = (*store)(nil)
	_ logdriver.Directory = (*store)(nil)
	_ logdriver.Places    = (*store)(nil)
)

// tick is the least time between two rounds of wake-ups by one process.
const tick = time.Millisecond

// open makes a driver and does not connect; see start.
func open(client nats.Options, cfg Config) (*store, *logdriver.Driver, error) {
	logger := cmp.Or(cfg.Logger, slog.Default())
	s := &store{link: &link{names: names(cfg.Prefix), client: client}, replicas: max(1, cfg.Replicas)}
	s.writes = &logdriver.Writes[edit]{Make: s.write}
	d, err := logdriver.NewDriver(logdriver.Parts{
		Name:    "natsbus",
		Backend: logdriver.Backend{Log: s, Directory: s, Append: s.append, TopicsApart: true, Begin: s.writes.Begin, Headers: headers{}},
		Config: logdriver.Config{
			Partitions: cfg.Partitions, Retention: cfg.Retention, LeaseTTL: cfg.LeaseTTL, PollInterval: cfg.PollInterval,
			Holder: cfg.Holder, Logger: logger,
		},
		Start: func(ctx context.Context) error { return s.start(ctx, logger) },
		Ping:  s.ping, PingStarts: true, Watch: s.watch, Follow: s.follow, Wake: s.wakeOthers, Tick: tick, Newest: s.newest, Close: s.close,
	})
	return s, d, err
}

// start connects, and creates the bucket.
func (s *store) start(ctx context.Context, logger *slog.Logger) error {
	err := s.connect(ctx, logger)
	if err == nil {
		err = s.makeBucket(ctx)
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	return nil
}

func (s *store) ping(ctx context.Context) error {
	_, err := s.info(ctx, s.bucket())
	return err
}

// wakeOthers notifies the readers of the lanes, and members of groups, by NATS's own
// messages, which are not stored. A lost one costs at most the time of a poll.
func (s *store) wakeOthers(_ context.Context, c logdriver.Change) error {
	var errs []error
	if c.Groups {
		errs = append(errs, s.conn.Publish(s.groups(), nil))
	}
	for _, lane := range c.Lanes {
		p := s.lanes.Partition(lane)
		errs = append(errs, s.conn.Publish(s.wake(p.Topic, p.N), nil))
	}
	return errors.Join(errs...)
}

// follow passes on other processes' notifications of a topic's messages. Subscriptions outlive a
// broken connection.
func (s *store) follow(_ context.Context, hub *logdriver.Hub, topic string) error {
	_, err := s.conn.Subscribe(s.wake(topic, "*"), func(m *nats.Msg) {
		if n, err := strconv.Atoi(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]); err == nil {
			s.lanes.Wake(hub, topic, n)
		}
	})
	return err
}
