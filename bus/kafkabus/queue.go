package kafkabus

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	busdriver "github.com/millrace-go/millrace/bus/driver"
)

// queue holds the messages of a partition that the client does not have. The client has one
// batch of each partition at a time, and the next batch takes all messages that have
// arrived since. So a lone message is sent at once, load makes batches without delay,
// and no message overtakes one that is being retried.
//
// The client alone cannot do this. Behind a failed record it fails every record of the
// partition, those of other callers too; and each of its records is either published or
// fails with all records behind it. With one batch in the client this is right: a refused
// batch is handed over again in smaller parts until the refused message is alone. The
// messages in the queue have not been sent, so a caller that ends removes its own. The
// client keeps sequence numbers and connections, and repeats after transient errors. Errors
// that the client takes for final and we do not (an error that the brokers do not explain,
// a missing topic) are retried as a new batch.
type queue struct {
	publisher *publisher
	of        partition

	// Guarded by the publisher's lock.
	items   []*item
	ready   bool   // it is in the publisher's list
	busy    bool   // the client has a batch, or a backoff runs
	batch   *batch // that the client has
	most    int    // limit of the next batch while a refused message is searched; else 0
	attempt int    // failures in a row
}

// batch is the batch of a partition that the client has.
type batch struct {
	queue     *queue
	items     []*item
	at        time.Time
	cancel    context.CancelFunc
	abandoned bool // no call waits for it; guarded by the publisher's lock
	left      int  // items without an answer; of the client's goroutine
}

// queue returns the queue of a partition; p.mu is held.
func (p *publisher) queue(of partition) *queue {
	q := p.queues[of]
	if q == nil {
		q = &queue{publisher: p, of: of}
		p.queues[of] = q
	}
	return q
}

// schedule has the queue's next batch sent with the next wake; p.mu is held.
func (p *publisher) schedule(q *queue) {
	if q.ready || q.busy || len(q.items) == 0 || p.life.Err() != nil {
		return
	}
	q.ready = true
	p.ready = append(p.ready, q)
}

// wake starts sending if a queue is ready; p.mu is held.
func (p *publisher) wake() {
	if !p.sending && len(p.ready) > 0 {
		p.sending = true
		p.workers.Go(p.send)
	}
}

// send hands over a batch of every queue that is ready. One goroutine at a time does so,
// and has set sending: messages that arrive during that time share batches and requests. Records
// that did not fit into one batch of the client's come back (see whole).
func (p *publisher) send() {
	runtime.Gosched() // callers that are about to publish come first
	p.mu.Lock()
	var batches []*batch
	for _, q := range p.ready {
		q.ready = false
		// A batch waits until its partition has a leader.
		if _, _, err := p.client.PartitionLeader(q.of.topic, q.of.id); kerr.IsRetriable(err) {
			p.retry(q, time.Now(), err)
		} else if b := q.cut(); b != nil {
			batches = append(batches, b)
		}
	}
	p.ready = p.ready[:0]
	client := p.client
	p.mu.Unlock()
	for _, b := range batches {
		for _, it := range b.items {
			client.Produce(it.record.Context, &it.record, it.answered)
		}
	}
	ended, end := context.WithCancel(context.Background())
	end()
	client.Flush(ended) //nolint:errcheck // it ends the lingering, and does not wait for more
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sending = false
	p.wake()
}

// cut takes the next batch out of the queue; nil if there is nothing to send. p.mu is held.
func (q *queue) cut() *batch {
	p := q.publisher
	b := &batch{queue: q, at: time.Now()}
	n, size := 0, 0
	for _, it := range q.items {
		if _, behind := it.call.failed[it.key]; behind || it.call.over {
			p.settle(it, busdriver.NotSent, errBehind)
			n++
			continue
		}
		if b.left > 0 && (size+it.size > batchBytes || b.left == q.most) {
			break
		}
		b.items = append(b.items, it)
		b.left++
		size += it.size
		n++
	}
	clear(q.items[:n])
	if q.items = q.items[n:]; len(q.items) == 0 {
		q.items = nil
	}
	if b.left == 0 {
		return nil
	}
	var ctx context.Context
	ctx, b.cancel = context.WithCancel(p.life)
	for _, it := range b.items {
		it.batch, it.sent, it.err = b, true, nil
		it.record.Context, it.record.Partition, it.record.Offset = ctx, q.of.id, 0
	}
	b.items[0].record.Offset = begins
	q.batch, q.busy = b, true
	p.workers.Add(1)
	return b
}

var errBehind = errors.New("an earlier message of its key failed")

// answered is called by the client, for one record after the other.
func (it *item) answered(_ *kgo.Record, err error) {
	b := it.batch
	it.err = err
	if b.left--; b.left == 0 {
		b.queue.publisher.finish(b)
	}
}

// finish settles a batch whose outcome is final for the client, or puts its retriable
// messages back.
func (p *publisher) finish(b *batch) {
	defer p.workers.Done()
	b.cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	q := b.queue
	q.batch, q.busy = nil, false
	var failed, late []*item
	for _, it := range b.items {
		switch {
		case it.err == nil:
			p.settle(it, busdriver.Published, nil)
		case it.record.Partition < 0:
			late = append(late, it)
		default:
			failed = append(failed, it)
		}
	}
	q.putBack(late, false)
	var err error
	if len(failed) > 0 {
		err = failed[0].err
	}
	switch {
	case err == nil:
		q.most, q.attempt = 0, 0
	case b.abandoned, p.life.Err() != nil:
		settleAll(failed, busdriver.Unknown, errClosed)
	case permanent(err) && len(failed) > 1:
		// One of the messages is at fault: find it, so that it fails alone.
		q.putBack(failed, false)
		q.most = len(failed) / 2
	case permanent(err):
		settleAll(failed, busdriver.Refused, err)
		q.most = 0
	case refused(err):
		settleAll(failed, busdriver.Refused, err)
		p.retry(q, b.at, err)
	default:
		q.putBack(failed, true)
		p.retry(q, b.at, err)
	}
	p.schedule(q)
	p.wake()
}

// settleAll settles items; p.mu is held.
func settleAll(items []*item, o busdriver.Outcome, err error) {
	for _, it := range items {
		it.queue.publisher.settle(it, o, err)
	}
}

// putBack puts messages in front of the others; p.mu is held.
func (q *queue) putBack(items []*item, sent bool) {
	for _, it := range items {
		it.batch, it.sent = nil, sent
	}
	q.items = append(items, q.items...)
}

// withdraw takes a call's messages out of the queues, and abandons batches that no call
// waits for; p.mu is held.
func (p *publisher) withdraw(c *call) {
	seen := map[*queue]struct{}{}
	for i := range c.items {
		q := c.items[i].queue
		if _, ok := seen[q]; ok || q == nil {
			continue
		}
		seen[q] = struct{}{}
		q.items = slices.DeleteFunc(q.items, func(it *item) bool {
			if it.call == c {
				p.settle(it, busdriver.NotSent, errBehind)
			}
			return it.call == c
		})
		if b := q.batch; b != nil && !b.abandoned && !slices.ContainsFunc(b.items, func(it *item) bool { return !it.call.over }) {
			b.abandoned = true
			// Cancelling a request closes its connection, which others use. By then it has
			// its answer, or is being repeated.
			time.AfterFunc(requestTimeout, b.cancel)
		}
	}
}
