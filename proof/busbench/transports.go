package busbench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/together"
)

// transport is a row of the table.
type transport struct {
	name   string
	peerOf string // the row that it is compared with
	open   func(ctx context.Context, cfg Config) (*opened, error)
}

// opened is a transport that is ready.
type opened struct {
	publisher message.Publisher
	// topic makes a topic of its own with one group, which gets all published
	// messages.
	topic func(ctx context.Context) (string, error)
	// consume calls handle for each message of the topic until it is stopped.
	consume func(ctx context.Context, topic string, handle func()) (stop func() error, err error)
	// close ends it and removes its leftovers.
	close func() error
}

const group = "g"

// unique is a new name for a resource of the benchmark.
func unique(cfg Config) string { return fmt.Sprintf("%s_bus_%d", cfg.Prefix, time.Now().UnixNano()) }

// transports lists ours, each before its peer.
func transports(cfg Config) []transport {
	list := []transport{{"sqlite://", "", func(ctx context.Context, cfg Config) (*opened, error) {
		dir, err := os.MkdirTemp("", "millrace-bench-")
		if err != nil {
			return nil, err
		}
		return ours(ctx, cfg, "sqlite://"+filepath.Join(dir, "bus.db"), func([]string) error { return os.RemoveAll(dir) })
	}}}
	if cfg.Postgres != "" {
		list = append(list, transport{"postgres://", "", func(ctx context.Context, cfg Config) (*opened, error) {
			return inPlace(ctx, cfg, place.Postgres, cfg.Postgres)
		}}, transport{"  watermill-sql v3.1.0 (tuned as above)", "postgres://", watermillPostgres})
	}
	if cfg.MariaDB != "" {
		list = append(list, transport{"mysql://", "", func(ctx context.Context, cfg Config) (*opened, error) {
			return inPlace(ctx, cfg, place.MariaDB, cfg.MariaDB)
		}}, transport{"  watermill-sql v3.1.0, MySQL (tuned as above)", "mysql://", watermillMariaDB})
	}
	if cfg.Redis != "" {
		list = append(list, transport{"redis://", "", func(ctx context.Context, cfg Config) (*opened, error) {
			return ours(ctx, cfg, withParameter(cfg.Redis, "prefix", cfg.Prefix+"_"), func([]string) error {
				return place.SweepRedis(context.WithoutCancel(ctx), cfg.Redis, cfg.Prefix+"_")
			})
		}}, transport{"  watermill-redisstream v1.4.5", "redis://", watermillRedis})
	}
	if cfg.RabbitMQ != "" {
		list = append(list, transport{"amqp:// (quorum queues)", "", func(ctx context.Context, cfg Config) (*opened, error) {
			exchange := cfg.Prefix + "_events"
			return ours(ctx, cfg, withParameter(cfg.RabbitMQ, "exchange", exchange), func(topics []string) error {
				var queues []string
				for _, t := range topics {
					queues = append(queues, t+".DLT")
					for i := range 3 {
						queues = append(queues, fmt.Sprintf("%s:%s:%d", t, group, i))
					}
				}
				return place.SweepRabbitMQ(cfg.RabbitMQ, queues, []string{exchange})
			})
		}}, transport{"  watermill-amqp v2.1.3 (quorum, confirms)", "amqp:// (quorum queues)", watermillAMQP})
	}
	if cfg.Brokers != "" {
		list = append(list, transport{"kafka://", "", func(ctx context.Context, cfg Config) (*opened, error) {
			return ours(ctx, cfg, "kafka://"+cfg.Brokers+"/", func([]string) error { return place.SweepKafka(cfg.Brokers, cfg.Prefix+"_bus_") })
		}}, transport{"  watermill-kafka v3.0.6 (same settings)", "kafka://", watermillKafka})
	}
	return list
}

// inPlace opens a bus in a schema or database of its own.
func inPlace(ctx context.Context, cfg Config, on func(server, name string) (place.Place, error), server string) (*opened, error) {
	p, err := on(server, cfg.Prefix+"_bus")
	if err != nil {
		return nil, err
	}
	if err := p.Recreate(ctx); err != nil {
		return nil, err
	}
	return ours(ctx, cfg, p.URL, func([]string) error { return p.Drop(context.WithoutCancel(ctx)) })
}

// ours opens a bus. sweep removes its leftovers, given its topics.
func ours(ctx context.Context, cfg Config, url string, sweep func(topics []string) error) (*opened, error) {
	quiet := slog.New(slog.DiscardHandler)
	bs, err := bus.Open(ctx, url, allbus.Schemes(allbus.Config{Logger: quiet})...)
	if err != nil {
		return nil, errors.Join(err, sweep(nil))
	}
	var topics []string
	return &opened{
		publisher: bs.Publisher(),
		topic: func(ctx context.Context) (string, error) {
			topic := unique(cfg)
			topics = append(topics, topic)
			return topic, bs.Declare(ctx, bus.Topic{Name: topic, Groups: []string{group}})
		},
		consume: func(ctx context.Context, topic string, handle func()) (func() error, error) {
			r, err := bus.NewRunner(bs, bus.RunnerConfig{Logger: quiet})
			if err != nil {
				return nil, err
			}
			err = r.Add(bus.Consumer{Topic: topic, Group: group, Handler: func(*message.Message) error { handle(); return nil }})
			if err != nil {
				return nil, err
			}
			return together.Background(ctx, r.Run), nil
		},
		close: func() error { return errors.Join(bs.Close(), sweep(topics)) },
	}, nil
}

// withParameter adds a parameter to a URL.
func withParameter(url, name, value string) string {
	if strings.Contains(url, "?") {
		return url + "&" + name + "=" + value
	}
	return url + "?" + name + "=" + value
}
