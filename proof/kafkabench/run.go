package kafkabench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/report"
	"github.com/millrace-go/millrace/proof/watermillkafka"
)

// Config sizes a run. The zero value is the published one.
type Config struct {
	URL     string // PostgreSQL
	Brokers string // of Kafka, separated by commas
	Rows    int    // backlog to relay; 100,000
	Size    int    // bytes of payload; 500
	Rounds  int    // interleaved rounds; 5
	Lone    int    // messages that are sent one at a time; 2000
	Prefix  string // of the schema and topics; "bench"
}

func (c Config) withDefaults() Config {
	c.Rows = cmp.Or(c.Rows, 100_000)
	c.Size = cmp.Or(c.Size, 500)
	c.Rounds = cmp.Or(c.Rounds, 5)
	c.Lone = cmp.Or(c.Lone, 2000)
	c.Prefix = cmp.Or(c.Prefix, "bench")
	return c
}

// Run measures and writes the report.
func Run(ctx context.Context, cfg Config, out *report.Recorder) (err error) {
	cfg = cfg.withDefaults()
	p, err := place.Postgres(cfg.URL, cfg.Prefix+"_kafka")
	if err != nil {
		return err
	}
	defer p.Drop(context.WithoutCancel(ctx)) //nolint:errcheck // best effort after the measurements
	c, err := connect(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	b, err := fill(ctx, p, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	db, err := pgx.Connect(ctx, p.URL)
	if err != nil {
		return err
	}
	defer db.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it has only read
	lone := min(cfg.Lone, cfg.Rows)
	runs := []run{
		{"franz-go, flat out, records in memory", cfg.Rows, func(ctx context.Context, topic string) (report.Pace, error) {
			messages, err := b.inMemory(ctx, cfg.Rows)
			if err != nil {
				return report.Pace{}, err
			}
			return c.flatOut(ctx, topic, messages)
		}},
		{"outbox.Relay from PostgreSQL (Lanes 2, Chunk 5000, batches of 5000 to 10,000)", cfg.Rows, func(ctx context.Context, topic string) (report.Pace, error) {
			return b.relay(ctx, into{c.bus.Publisher(), topic})
		}},
		{"pgx and franz-go, nothing between, no place kept", cfg.Rows, func(ctx context.Context, topic string) (report.Pace, error) {
			return c.bare(ctx, db, topic, cfg.Rows)
		}},
		{watermillkafka.Name + " publisher, one message at a time", lone, func(ctx context.Context, topic string) (report.Pace, error) {
			messages, err := b.inMemory(ctx, lone)
			if err != nil {
				return report.Pace{}, err
			}
			return c.oneByOne(topic, messages)
		}},
	}
	names := make([]string, len(runs))
	for i, r := range runs {
		names[i] = r.name
	}
	all, err := report.Interleave(out, cfg.Rounds, names, func(_ int, name string) (report.Pace, string, error) {
		got, err := c.measure(ctx, runs[slices.Index(names, name)])
		return got, fmt.Sprintf("%-58s %9.0f messages/s", name, got.Rate), err
	})
	if err != nil {
		return err
	}
	out.Title("medians of %d rounds; %d messages of %d B, %d one by one; acks of all replicas, idempotent, zstd, %d partitions",
		cfg.Rounds, cfg.Rows, cfg.Size, lone, partitions)
	fmt.Fprintf(out, "%-58s %10s %12s\n", "publisher", "messages/s", "CPU µs/msg")
	rates := make([]float64, len(runs))
	roles := []report.Role{report.Limit, report.Ours, report.Peer, report.Peer}
	out.Chart(report.Chart{Name: "publish", Title: "From an outbox to Kafka", Unit: "messages/s", Note: fmt.Sprintf("%d messages of %d B", cfg.Rows, cfg.Size)})
	for i, r := range runs {
		median := report.Paced(out, report.Figure{Chart: "publish", Name: r.name, Role: roles[i]}, all[r.name], report.Pace.Itself)
		rates[i] = median.Rate
		fmt.Fprintf(out, "%-58s %10.0f %12.1f\n", r.name, median.Rate, report.Micros(median.CPU))
	}
	fmt.Fprintln(out)
	out.Mark("publish", "0.9 × pgx and franz-go", 0.9*rates[2])
	relayTo := func(i int) report.Measured {
		return report.Between(all[runs[1].name], all[runs[i].name], func(p report.Pace) float64 { return p.Rate }, "messages/s")
	}
	out.AtLeast("relay to Kafka / pgx and franz-go", relayTo(2), 0.9)
	out.Told("relay to Kafka / franz-go flat out", relayTo(0))
	out.Told("relay to Kafka / watermill-kafka one at a time", relayTo(3))
	return nil
}

// run is one publisher under measurement.
type run struct {
	name     string
	messages int
	publish  func(ctx context.Context, topic string) (report.Pace, error)
}

// measure publishes into a topic of its own and counts the messages that arrived.
func (c *cluster) measure(ctx context.Context, r run) (report.Pace, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	topic, err := c.topic(ctx)
	if err != nil {
		return report.Pace{}, err
	}
	got, err := r.publish(ctx, topic)
	if err != nil {
		return report.Pace{}, errors.Join(err, c.delete(topic))
	}
	n, err := c.count(ctx, topic)
	if err == nil && n != r.messages {
		err = fmt.Errorf("the topic has %d messages instead of %d", n, r.messages)
	}
	return got, errors.Join(err, c.delete(topic))
}

// timed measures the cost of a function per message.
func timed(messages int, fn func() error) (report.Pace, error) {
	runtime.GC() // of earlier work
	return report.Timed(messages, fn)
}

// deadline bounds one measurement.
const deadline = 2 * time.Minute
