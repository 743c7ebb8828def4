package kafkabus

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/internal/backoff"
)

const (
	// How often in a row the cluster says that it does not know a topic before the
	// client gives it up: some 100 ms each. A broker that has just started says so too.
	unknownTopicRetries = 8
	// A produce request, and so a message, has at most this many bytes before compression.
	requestBytes = 100 << 20
)

// dial makes a producing client. It connects at its first use.
func (p *publisher) dial() (*kgo.Client, error) {
	opts, err := p.set.options()
	if err != nil {
		return nil, err
	}
	return kgo.NewClient(append(opts,
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProduceRequestTimeout(replicaTimeout),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
		kgo.UnknownTopicRetries(unknownTopicRetries),
		// The queues and the room bound what the client has.
		kgo.MaxBufferedRecords(math.MaxInt32),
		kgo.BrokerMaxWriteBytes(requestBytes),
		kgo.ProducerBatchMaxBytes(requestBytes),
		// A batch that no call waits for is given up, though it may be in the topic.
		// What follows has a new epoch, so brokers neither take it for a repetition
		// nor let the old batch in behind it.
		kgo.AllowIdempotentProduceCancellation(),
		kgo.WithLogger(&p.trouble),
	)...)
}

// retry lets the queue go on after a while, when what can be done about the
// failure of a batch that was sent at that time has been done; p.mu is held.
func (p *publisher) retry(q *queue, sent time.Time, err error) {
	q.busy = true
	q.attempt++
	p.trouble.note(err)
	attempt := q.attempt
	p.workers.Go(func() {
		ctx, cancel := context.WithTimeout(p.life, requestTimeout)
		defer cancel()
		if unknownTopic(err) {
			p.renew(ctx, q.of.topic, sent, err)
		} else {
			p.revive(ctx)
		}
		_ = backoff.Sleep(p.life, again.Delay(attempt)) // if life ends, nothing is scheduled
		p.mu.Lock()
		defer p.mu.Unlock()
		q.busy = false
		p.schedule(q)
		p.wake()
	})
}

// renew makes a topic that was deleted. The client takes one that has been made
// again for a stranger, until it is told to forget the old one; that ends all
// that it has for the old one.
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
	_ = p.topics.ensure(ctx, topic) // what fails is tried again with the batch
}

// revive replaces a client that will never have a producer id: it takes the
// first refusal as final, though permissions can be given later.
func (p *publisher) revive(ctx context.Context) {
	p.mu.Lock()
	old := p.client
	p.mu.Unlock()
	if _, _, err := old.ProducerID(ctx); err == nil || ctx.Err() != nil || kgo.IsRetryableBrokerErr(err) {
		return
	}
	fresh, err := p.dial()
	if err != nil {
		return // it is tried again with the next failure
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
