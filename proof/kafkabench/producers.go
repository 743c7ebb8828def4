package kafkabench

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/proof/report"
)

// producing are the settings of franz-go's producer: its defaults, which are idempotent
// and wait for every in-sync replica, with the compression that all use, and with room
// for as many records as the relay has in flight (8 MiB by default at 500 B).
func producing() []kgo.Opt {
	return []kgo.Opt{
		kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.MaxBufferedRecords(20_000),
	}
}

// producer hands records to franz-go and waits for their results.
type producer struct {
	client *kgo.Client
	failed atomic.Pointer[error]
}

func (p *producer) send(ctx context.Context, r *kgo.Record) {
	p.client.Produce(ctx, r, func(_ *kgo.Record, err error) {
		if err != nil {
			p.failed.Store(&err)
		}
	})
}

func (p *producer) wait(ctx context.Context) error {
	if err := p.client.Flush(ctx); err != nil {
		return err
	}
	if err := p.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// flatOut feeds franz-go as fast as it takes records, so that only the producer is
// measured.
func (c *cluster) flatOut(ctx context.Context, topic string, messages []*message.Message) (report.Pace, error) {
	records := make([]*kgo.Record, len(messages))
	for i, m := range messages {
		records[i] = record(topic, event.Key(m), m.UUID, m.Metadata, m.Payload)
	}
	return timed(len(records), func() error {
		p := producer{client: c.client}
		for _, r := range records {
			p.send(ctx, r)
		}
		return p.wait(ctx)
	})
}

// bareRows is how many rows the bare program reads at a time.
const bareRows = 2000

// bare reads the rows of the outbox in the order of their ids and hands them over.
func (c *cluster) bare(ctx context.Context, db *pgx.Conn, topic string, rows int) (report.Pace, error) {
	return timed(rows, func() error {
		p := producer{client: c.client}
		for last, n := int64(0), bareRows; n == bareRows; {
			found, err := db.Query(ctx, `SELECT id, message_id, message_key, headers, payload FROM outbox_messages
				WHERE lane = 0 AND id > $1 ORDER BY id LIMIT $2`, last, bareRows)
			if err != nil {
				return err
			}
			for n = 0; found.Next(); n++ {
				var id, key, headers string
				var payload []byte
				if err := found.Scan(&last, &id, &key, &headers, &payload); err != nil {
					return err
				}
				metadata := map[string]string{}
				if err := json.Unmarshal([]byte(headers), &metadata); err != nil {
					return err
				}
				p.send(ctx, record(topic, key, id, metadata, payload))
			}
			if err := found.Err(); err != nil {
				return err
			}
		}
		return p.wait(ctx)
	})
}

// record is the message as Watermill's Kafka packages, and kafkabus, write it.
func record(topic, key, id string, metadata map[string]string, payload []byte) *kgo.Record {
	headers := make([]kgo.RecordHeader, 0, len(metadata)+1)
	headers = append(headers, kgo.RecordHeader{Key: "_watermill_message_uuid", Value: []byte(id)})
	for k, v := range metadata {
		headers = append(headers, kgo.RecordHeader{Key: k, Value: []byte(v)})
	}
	return &kgo.Record{Topic: topic, Key: []byte(key), Value: payload, Headers: headers}
}

// oneByOne publishes as one caller of Watermill's publisher does.
func (c *cluster) oneByOne(topic string, messages []*message.Message) (report.Pace, error) {
	return timed(len(messages), func() error { return c.watermill.Publish(topic, messages...) })
}
