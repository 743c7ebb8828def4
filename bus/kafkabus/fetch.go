package kafkabus

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	readCommitted = kgo.ReadCommitted()
	decompressor  = kgo.DefaultDecompressor()
)

// fetch reads some records of a partition from an offset on, and returns the offset to go
// on from. At least one batch comes when there is any. Transaction markers and the records
// of aborted transactions are passed over, and nothing comes of a transaction that is open.
func (d *driver) fetch(ctx context.Context, topic string, partition int32, from int64, bytes int32) (found []*kgo.Record, next int64, err error) {
	err = d.request(ctx, func(ctx context.Context) error {
		all, err := d.admin.ListTopics(ctx, topic) // of the last moment, see options
		if err != nil {
			return err
		}
		of := all[topic]
		at, ok := of.Partitions[partition]
		switch {
		case of.Err != nil:
			return of.Err
		case !ok:
			return kerr.UnknownTopicOrPartition
		case at.Err != nil:
			return at.Err
		}
		ask := kmsg.NewFetchRequestTopicPartition()
		ask.Partition, ask.FetchOffset, ask.PartitionMaxBytes = partition, from, bytes
		req := kmsg.NewPtrFetchRequest()
		req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.IsolationLevel, req.SessionEpoch = 100, 1, bytes, 1, -1
		// Brokers of 3.1 and newer take the id, older ones the name.
		req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, TopicID: of.ID, Partitions: []kmsg.FetchRequestTopicPartition{ask}}}
		answer, err := d.client.Broker(int(at.Leader)).RetriableRequest(ctx, req)
		if err != nil {
			return err
		}
		found, next, err = read(answer.(*kmsg.FetchResponse), topic, from)
		return err
	})
	return found, next, err
}

// read returns the records of an answer with one partition, and the offset behind them.
func read(answer *kmsg.FetchResponse, topic string, from int64) ([]*kgo.Record, int64, error) {
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return nil, from, err
	}
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		return nil, from, fmt.Errorf("the broker answered about %d topics, not one", len(answer.Topics))
	}
	of := &answer.Topics[0].Partitions[0]
	part, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: from, IsolationLevel: readCommitted, Topic: topic, Partition: of.Partition,
	}, of, decompressor, nil)
	return part.Records, next, part.Err
}

// bounds returns the earliest offsets of all partitions of topics, and their ends as list
// knows them.
func (d *driver) bounds(ctx context.Context, list func(context.Context, ...string) (kadm.ListedOffsets, error), topics ...string) (start, end kadm.ListedOffsets, err error) {
	err = d.request(ctx, func(ctx context.Context) (err error) {
		start, err = settled(d.admin.ListStartOffsets(ctx, topics...))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	err = d.request(ctx, func(ctx context.Context) (err error) {
		end, err = settled(list(ctx, topics...))
		return err
	})
	return start, end, err
}

// settled fails where an offset is missing.
func settled(all kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
	if err != nil {
		return nil, err
	}
	return all, all.Error()
}
