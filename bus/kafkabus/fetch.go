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

// chunk holds the records of a fetch, and the offset to continue from.
type chunk struct {
	records []*kgo.Record
	next    int64
}

// fetch reads some records of a partition from an offset on: at least one batch, if there
// is one. Transaction markers and the records of aborted transactions are skipped, and
// records of an open transaction are not returned.
func (d *driver) fetch(ctx context.Context, topic string, partition int32, from int64, bytes int32) (chunk, error) {
	return request(ctx, d, func(ctx context.Context) (none chunk, err error) {
		all, err := d.admin.ListTopics(ctx, topic) // of the last moment, see options
		if err != nil {
			return none, err
		}
		of := all[topic]
		at, ok := of.Partitions[partition]
		switch {
		case of.Err != nil:
			return none, of.Err
		case !ok:
			return none, kerr.UnknownTopicOrPartition
		case at.Err != nil:
			return none, at.Err
		}
		ask := kmsg.NewFetchRequestTopicPartition()
		ask.Partition, ask.FetchOffset, ask.PartitionMaxBytes = partition, from, bytes
		req := kmsg.NewPtrFetchRequest()
		req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.IsolationLevel, req.SessionEpoch = 100, 1, bytes, 1, -1
		// Brokers of 3.1 and newer take the id, older ones the name.
		req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, TopicID: of.ID, Partitions: []kmsg.FetchRequestTopicPartition{ask}}}
		answer, err := d.client.Broker(int(at.Leader)).RetriableRequest(ctx, req)
		if err != nil {
			return none, err
		}
		return read(answer.(*kmsg.FetchResponse), topic, from)
	})
}

// read returns the records of an answer about one partition.
func read(answer *kmsg.FetchResponse, topic string, from int64) (chunk, error) {
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return chunk{}, err
	}
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		return chunk{}, fmt.Errorf("the broker answered about %d topics, not one", len(answer.Topics))
	}
	of := &answer.Topics[0].Partitions[0]
	part, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: from, IsolationLevel: readCommitted, Topic: topic, Partition: of.Partition,
	}, of, decompressor, nil)
	return chunk{part.Records, next}, part.Err
}

// lister is a method of kadm.Client that lists one offset of each partition.
type lister = func(context.Context, ...string) (kadm.ListedOffsets, error)

// bounds returns the earliest offsets of all partitions of topics, and their ends as the
// lister last returns them.
func (d *driver) bounds(ctx context.Context, last lister, topics ...string) (start, end kadm.ListedOffsets, err error) {
	list := func(by lister) (kadm.ListedOffsets, error) {
		return request(ctx, d, func(ctx context.Context) (kadm.ListedOffsets, error) { return complete(by(ctx, topics...)) })
	}
	if start, err = list(d.admin.ListStartOffsets); err != nil {
		return nil, nil, err
	}
	end, err = list(last)
	return start, end, err
}

// complete fails if an offset is missing.
func complete(all kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
	if err != nil {
		return nil, err
	}
	return all, all.Error()
}
