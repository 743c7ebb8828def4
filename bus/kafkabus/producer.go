package kafkabus

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

const (
	// How long the client holds records back for more of their batch. Flush ends it at
	// once; only a batch that is sent again can wait this long.
	linger = 5 * time.Millisecond
	// How often in a row the cluster may answer that a topic is unknown before the client
	// fails: some 100 ms each. A broker that has just started gives this answer too.
	unknownTopicRetries = 8
	// The limit of a produce request, and so of a message, in bytes before compression.
	requestBytes = 100 << 20
)

// dial makes a producing client. It connects at its first use.
func (p *publisher) dial() (*kgo.Client, error) {
	return kgo.NewClient(append(p.set.options(),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProduceRequestTimeout(replicaTimeout),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.RecordPartitioner(whole{}),
		kgo.ProducerLinger(linger),
		kgo.UnknownTopicRetries(unknownTopicRetries),
		// The queues and the room bound the records in the client.
		kgo.MaxBufferedRecords(math.MaxInt32),
		kgo.BrokerMaxWriteBytes(requestBytes),
		kgo.ProducerBatchMaxBytes(requestBytes),
		// A batch that no call waits for is abandoned, though it may be in the topic. Later
		// batches have a new epoch, so brokers neither take them for repetitions nor accept
		// the old batch behind them.
		kgo.AllowIdempotentProduceCancellation(),
		kgo.WithLogger(&p.lateness),
	)...)
}

// whole is a partitioner that uses the partition of the record, and lets only the first
// record of our batch begin a batch of the client's. The other records either join that
// batch, or fail here with the partition -1 if it has left already. Otherwise that batch
// could fail, and a later one be published.
type whole struct{}

// begins is the Offset of records that may begin a batch.
const begins = 1

// ForTopic implements kgo.Partitioner.
func (whole) ForTopic(string) kgo.TopicPartitioner { return &wholeTopic{} }

type wholeTopic struct{ fresh bool } // the next record begins a batch

var _ kgo.TopicPartitionerOnNewBatch = (*wholeTopic)(nil)

// RequiresConsistency implements kgo.TopicPartitioner.
func (*wholeTopic) RequiresConsistency(*kgo.Record) bool { return true }

// OnNewBatch implements kgo.TopicPartitionerOnNewBatch.
func (t *wholeTopic) OnNewBatch() { t.fresh = true }

// Partition implements kgo.TopicPartitioner.
func (t *wholeTopic) Partition(r *kgo.Record, _ int) int {
	if t.fresh && r.Offset != begins {
		r.Partition = -1
	}
	t.fresh = false
	return int(r.Partition)
}

// partitions returns how many partitions a topic has. The cluster is asked once: after the
// first publish to a topic, the client finds its new partitions on its own.
func (p *publisher) partitions(ctx context.Context, topic string) (int32, error) {
	p.mu.Lock()
	client, n := p.client, p.sizes[topic]
	p.mu.Unlock()
	known := n
	if n == 0 {
		have, err := p.topics.await(ctx, topic)
		if err != nil {
			p.topics.forget(topic) // it was deleted; the next call creates it again
			return 0, err
		}
		n = int32(len(have.Partitions))
	}
	for {
		if leader, _, _ := client.PartitionLeader(topic, n); leader == -1 { // no partition has this number
			break
		}
		n++
	}
	if n != known {
		p.mu.Lock()
		p.sizes[topic] = n
		p.mu.Unlock()
	}
	return n, nil
}

// retry schedules the queue again after a delay, and first tries to repair the cause of the
// failure of a batch that was sent at the given time; p.mu is held.
func (p *publisher) retry(q *queue, sent time.Time, err error) {
	q.busy = true
	q.attempt++
	p.lateness.note(err)
	attempt := q.attempt
	p.workers.Go(func() {
		ctx, cancel := context.WithTimeout(p.life, requestTimeout)
		defer cancel()
		if unknownTopic(err) {
			p.renew(ctx, q.of.topic, sent, err)
		} else {
			p.revive(ctx)
		}
		_ = kit.Sleep(p.life, again.Delay(attempt)) // if life ends, nothing is scheduled
		p.mu.Lock()
		defer p.mu.Unlock()
		q.busy = false
		p.schedule(q)
		p.wake()
	})
}

// renew creates a topic that was deleted. The client does not accept a recreated topic
// until the old one is purged. Purging ends everything that the client has for the old topic.
func (p *publisher) renew(ctx context.Context, topic string, sent time.Time, err error) {
	p.mu.Lock()
	client := p.client
	purge := errors.Is(err, kerr.UnknownTopicID) && sent.After(p.purged[topic])
	if purge {
		p.purged[topic] = time.Now()
		delete(p.sizes, topic)
	}
	p.mu.Unlock()
	if purge {
		client.PurgeTopicsFromProducing(topic)
	}
	p.topics.forget(topic)
	_ = p.topics.ensure(ctx, topic) // a failure is retried with the batch
}

// revive replaces a client that will never have a producer id: the client takes the first
// refusal as final, though permissions can be granted later.
func (p *publisher) revive(ctx context.Context) {
	p.mu.Lock()
	old := p.client
	p.mu.Unlock()
	if _, _, err := old.ProducerID(ctx); err == nil || ctx.Err() != nil || kgo.IsRetryableBrokerErr(err) {
		return
	}
	fresh, err := p.dial()
	if err != nil {
		return // retried with the next failure
	}
	p.mu.Lock()
	if p.client != old || p.life.Err() != nil {
		old = fresh
	} else {
		p.client = fresh
	}
	p.mu.Unlock()
	old.Close()
}
