package rediswatermill

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/rediskit"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/bus/watermillbus"
)

// Config is the configuration of the mode. The zero value works.
type Config struct {
	// MaxIdle is how long another member may be silent about a message in flight before
	// this member takes it over; 1 min by default, as Watermill's. Use one value in the
	// whole fleet.
	MaxIdle time.Duration
	// Marshaller is that of the fleet; by default Watermill's DefaultMarshallerUnmarshaller.
	Marshaller redisstream.MarshallerUnmarshaller
}

// Scheme returns redis:// and rediss:// with ?mode=watermill beside the native transport.
// The mode uses these fields of native: Client, TLS and Logger.
func Scheme(native redisbus.Config, cfg Config) bus.Scheme {
	return watermillbus.WithMode(redisbus.Scheme(native), without, func(_ context.Context, u *url.URL) (busdriver.Driver, error) {
		return open(u, native, cfg)
	})
}

// without lists the parameters of redis:// that have no meaning in this mode.
var without = map[string]string{
	"prefix":     "Watermill's names have none",
	"partitions": "a topic is one stream",
	"retention":  "Watermill keeps all, and does not know what other groups have read",
	"maxlen":     "Watermill would drop what groups have not read",
	"wait":       "Watermill's publisher does not wait for replicas",
}

func open(u *url.URL, native redisbus.Config, cfg Config) (busdriver.Driver, error) {
	params := busdriver.NewParams(u)
	for _, name := range rediskit.Parameters() {
		params.String(name, "") // read when the client is made
	}
	if err := params.Err(); err != nil {
		return nil, err
	}
	if cfg.MaxIdle < 0 {
		return nil, errors.New("Config.MaxIdle is negative; give a positive duration, or 0 for a minute")
	}
	cfg.MaxIdle = cmp.Or(cfg.MaxIdle, redisstream.DefaultMaxIdleTime)
	if cfg.Marshaller == nil {
		cfg.Marshaller = lenient{}
	}
	native.Logger = cmp.Or(native.Logger, slog.Default())
	s := &server{client: native.Client, log: native.Logger, cfg: cfg, groups: map[group]struct{}{}}
	shut := func() error { return nil }
	if s.client == nil {
		client, err := rediskit.Client(u, rediskit.Config{TLS: native.TLS})
		if err != nil {
			return nil, err
		}
		s.client, shut = client, client.Close
	}
	s.logger = watermill.NewSlogLoggerWithLevelMapping(native.Logger, map[slog.Level]slog.Level{slog.LevelInfo: slog.LevelDebug})
	d, err := watermillbus.New(watermillbus.Config{
		Publisher: func(context.Context) (message.Publisher, error) {
			return redisstream.NewPublisher(redisstream.PublisherConfig{Client: unclosed{s.client}, Marshaller: permanent{cfg.Marshaller}}, s.logger)
		},
		Subscriber:   func(_ context.Context, name string) (message.Subscriber, error) { return s.subscriber(name) },
		Capabilities: busdriver.Capabilities{Durable: true, ConsumerGroups: true, Replay: true, Broadcast: true, IndividualAcks: true, OneAtATime: true},
		Declare:      s.declare,
		Ping:         func(ctx context.Context) error { return s.client.Ping(ctx).Err() },
		Classify:     rediskit.Classify,
		Close:        shut,
	})
	if err != nil {
		return nil, errors.Join(err, shut())
	}
	return &driver{d, s}, nil
}

// driver publishes and consumes with Watermill's adapter, and uses the server itself for the rest.
type driver struct {
	watermillbus.Driver
	*server
}

// unclosed is a client that its users do not close, as Watermill's do.
type unclosed struct{ redis.UniversalClient }

func (unclosed) Close() error { return nil }
