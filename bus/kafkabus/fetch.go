package kafkabus

import (
	"context"
	"fmt"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/backoff"
)

// entry is a record outside of any group.
type entry struct {
	offset int64
	at     time.Time
	record *sarama.Record
}

func (e entry) message() *message.Message {
	return decode(e.record.Key, e.record.Headers, e.record.Value)
}

// offsets asks for one offset of each partition: sarama.OffsetOldest or
// OffsetNewest. A leader that has just moved, or is just coming up, is asked again.
func (d *driver) offsets(ctx context.Context, topic string, partitions []int32, which int64) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	out := make(map[int32]int64, len(partitions))
	for attempt := 1; ; attempt++ {
		ask := map[int32]int64{}
		for _, p := range partitions {
			if _, ok := out[p]; !ok {
				ask[p] = which
			}
		}
		if len(ask) == 0 {
			return out, nil
		}
		found, err := d.admin.ListOffsets(map[string]map[int32]int64{topic: ask}, nil)
		if err != nil {
			return nil, err
		}
		var trouble error
		for p := range ask {
			at := found[topic][p]
			switch {
			case at == nil:
				return nil, fmt.Errorf("partition %d: %w", p, sarama.ErrIncompleteResponse)
			case at.Err == nil || isKerror(at.Err, sarama.ErrNoError):
				out[p] = at.Offset
			case moving(at.Err):
				trouble = fmt.Errorf("partition %d: %w", p, at.Err)
			default:
				return nil, fmt.Errorf("partition %d: %w", p, at.Err)
			}
		}
		if trouble == nil {
			continue
		}
		if backoff.Sleep(ctx, askAgain.Delay(attempt)) != nil {
			return nil, trouble
		}
		if err := d.asking.RefreshMetadata(topic); err != nil && ctx.Err() != nil {
			return nil, err
		}
	}
}

var askAgain = backoff.Policy{Initial: 10 * time.Millisecond, Max: 250 * time.Millisecond}

// moving reports whether the partition's leader was not found where it was
// thought to be.
func moving(err error) bool {
	return isKerror(err, sarama.ErrNotLeaderForPartition, sarama.ErrLeaderNotAvailable, sarama.ErrUnknownTopicOrPartition,
		sarama.ErrReplicaNotAvailable, sarama.ErrFencedLeaderEpoch, sarama.ErrUnknownLeaderEpoch, sarama.ErrOffsetNotAvailable,
		sarama.ErrKafkaStorageError)
}

// fetch reads some records of a partition from an offset on, and returns the
// offset to go on from. At least one batch comes when there is any.
func (d *driver) fetch(ctx context.Context, topic string, partition int32, from int64, bytes int32) ([]entry, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		block, err := d.fetchBlock(topic, partition, from, bytes)
		switch {
		case err == nil:
			all, next := entries(block, from)
			return all, next, ctx.Err()
		case !moving(err):
			return nil, from, err
		}
		if backoff.Sleep(ctx, askAgain.Delay(attempt)) != nil {
			return nil, from, err
		}
		if err := d.asking.RefreshMetadata(topic); err != nil && ctx.Err() != nil {
			return nil, from, err
		}
	}
}

func (d *driver) fetchBlock(topic string, partition int32, from int64, bytes int32) (*sarama.FetchResponseBlock, error) {
	leader, err := d.asking.Leader(topic, partition)
	if err != nil {
		return nil, err
	}
	req := &sarama.FetchRequest{Version: 11, MaxWaitTime: 100, MinBytes: 1, MaxBytes: bytes, SessionEpoch: -1}
	req.AddBlock(topic, partition, from, bytes, -1)
	answer, err := leader.Fetch(req)
	if err != nil {
		return nil, err
	}
	block := answer.GetBlock(topic, partition)
	if block == nil {
		return nil, sarama.ErrIncompleteResponse
	}
	if block.Err != sarama.ErrNoError {
		return nil, block.Err
	}
	return block, nil
}

// entries returns the records of a fetched block, and the offset behind them.
func entries(block *sarama.FetchResponseBlock, from int64) (all []entry, next int64) {
	next = from
	for _, set := range block.RecordsSet {
		batch := set.RecordBatch
		if batch == nil || batch.PartialTrailingRecord {
			continue
		}
		next = batch.LastOffset() + 1
		if batch.Control {
			continue
		}
		for _, r := range batch.Records {
			e := entry{offset: batch.FirstOffset + r.OffsetDelta, at: batch.FirstTimestamp.Add(r.TimestampDelta), record: r}
			if batch.LogAppendTime {
				e.at = batch.MaxTimestamp
			}
			if e.offset >= from {
				all = append(all, e)
			}
		}
	}
	return all, next
}
