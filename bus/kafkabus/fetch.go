package kafkabus

import (
	"context"
	"fmt"
	"iter"

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
// records of an open transaction are not returned. Records that retention has deleted since
// the caller looked where the partition begins are passed over.
func (d *driver) fetch(ctx context.Context, topic string, partition int32, from int64, bytes int32) (chunk, error) {
	found, err := d.fetchAt(ctx, topic, partition, from, bytes)
	if !isKerror(err, kerr.OffsetOutOfRange) {
		return found, err
	}
	start, serr := d.offsets(ctx, d.admin.ListStartOffsets, topic)
	if first := start[topic][partition].Offset; serr == nil && first > from {
		return d.fetch(ctx, topic, partition, first, bytes)
	}
	return found, err
}

func (d *driver) fetchAt(ctx context.Context, topic string, partition int32, from int64, bytes int32) (chunk, error) {
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

// bounds returns the earliest offsets of the partitions of a topic, and their ends as the
// lister last returns them.
func (d *driver) bounds(ctx context.Context, last lister, topic string) (start, end map[int32]kadm.ListedOffset, err error) {
	list := func(by lister) (map[int32]kadm.ListedOffset, error) {
		all, err := request(ctx, d, func(ctx context.Context) (kadm.ListedOffsets, error) { return complete(by(ctx, topic)) })
		return all[topic], err
	}
	if start, err = list(d.admin.ListStartOffsets); err != nil {
		return nil, nil, err
	}
	end, err = list(last)
	return start, end, err
}

// extent returns where the committed messages of a topic begin and end, by partition. A topic
// that does not exist has no partitions.
func (d *driver) extent(ctx context.Context, topic string) (start, end map[int32]kadm.ListedOffset, err error) {
	if err := checkTopic(topic); err != nil {
		return nil, nil, err
	}
	have, err := d.topics.describe(ctx, topic)
	if err != nil || have == nil {
		return nil, nil, err
	}
	return d.bounds(ctx, d.admin.ListCommittedOffsets, topic)
}

// span is a part of a partition: the offsets from one up to another.
type span struct {
	topic     string
	partition int32
	from, to  int64
}

// spanBytes is how much one fetch of a span asks for.
const spanBytes = 4 << 20

// records reads a span. It ends before the records of an open transaction.
func (d *driver) records(ctx context.Context, s span) iter.Seq2[*kgo.Record, error] {
	return func(yield func(*kgo.Record, error) bool) {
		for at := s.from; at < s.to; {
			some, err := d.fetch(ctx, s.topic, s.partition, at, spanBytes)
			if err != nil {
				yield(nil, err)
				return
			}
			if some.next == at {
				return // later records are not readable yet
			}
			at = some.next
			for _, r := range some.records {
				if r.Offset >= s.to || !yield(r, nil) {
					return
				}
			}
		}
	}
}

// complete fails if an offset is missing.
func complete(all kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
	if err != nil {
		return nil, err
	}
	return all, all.Error()
}
