package kafkabus

import (
	"errors"
	"time"

	"github.com/IBM/sarama"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/backoff"
)

// lane publishes into one partition, one batch at a time. Its goroutine lives
// while there is something to publish.
type lane struct {
	publisher *publisher
	of        partition

	// Guarded by the publisher's lock.
	queue  []*item
	active bool
	sent   int // how many messages are under way

	// Of the lane's goroutine, and of the node's between offer and result.
	producer *producerID
	sequence int32
	distrust bool // what the brokers know of our producer id may be wrong
}

// producerID and a sequence number make the brokers recognise a batch that was
// sent again because its answer was lost.
type producerID struct {
	id    int64
	epoch int16
}

// batch is what a lane has under way.
type batch struct {
	lane      *lane
	items     []*item
	size      int
	records   *sarama.RecordBatch
	ambiguous bool // an attempt may have succeeded
	result    chan error
}

var retryBatch = backoff.Policy{Initial: 20 * time.Millisecond, Max: time.Second, Jitter: 0.2}

// add queues an item; p.mu is held.
func (l *lane) add(it *item) {
	l.queue = append(l.queue, it)
	if !l.active {
		l.active = true
		l.publisher.workers.Go(l.run)
	}
}

func (l *lane) run() {
	for l.waiting() {
		l.deliver(&batch{lane: l, result: make(chan error, 1)})
	}
}

// waiting reports whether there is something to publish; if not, the lane's
// goroutine ends.
func (l *lane) waiting() bool {
	p := l.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	l.sift()
	l.active = len(l.queue) > 0
	return l.active
}

// sift drops items from the front of the queue that need not or must not be
// sent; p.mu is held.
func (l *lane) sift() {
	n := 0
	for n < len(l.queue) && l.dropped(l.queue[n]) {
		n++
	}
	l.queue = l.queue[n:]
}

// dropped settles an item whose call is over, or of whose key an earlier
// message of the same call has failed.
func (l *lane) dropped(it *item) bool {
	c := it.call
	_, behind := c.failed[it.key]
	if !c.over && !behind {
		return false
	}
	l.publisher.settle(it, bus.NotSent, errors.New("an earlier message of its key failed"))
	return true
}

// deliver brings one batch into the topic, or finds out that it will not get there.
func (l *lane) deliver(b *batch) {
	for attempt := 1; ; attempt++ {
		err := l.attempt(b)
		if l.settled(b, err) {
			return
		}
		if !l.pause(retryBatch.Delay(attempt), err) || !l.wanted(b) {
			l.giveUp(b)
			return
		}
	}
}

func (l *lane) attempt(b *batch) error {
	p := l.publisher
	if err := l.identify(); err != nil {
		return unsent{err}
	}
	leader, err := p.client.Leader(l.of.topic, l.of.id)
	if err != nil {
		return unsent{err}
	}
	return p.node(leader).publish(b, leader)
}

// unsent marks the error of an attempt that got nowhere near the log.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// identify sees to it that the lane has a producer id.
func (l *lane) identify() (err error) {
	if l.producer != nil && !l.distrust {
		return nil
	}
	// A lane that lost track takes an id of its own, so that the others need
	// not begin anew.
	id, err := l.publisher.newProducer(!l.distrust)
	if err != nil {
		return err
	}
	l.producer, l.sequence, l.distrust = id, 0, false
	return nil
}

// cut makes the batch of what is in the queue now, if it was not made before.
// It reports whether there is anything to send. The node calls it, at the last
// moment.
func (l *lane) cut(b *batch) bool {
	p := l.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.items == nil {
		limit := p.conf.Producer.MaxMessageBytes
		n := 0
		for _, it := range l.queue {
			if l.dropped(it) {
				n++
				continue
			}
			if len(b.items) > 0 && b.size+it.size > limit {
				break
			}
			it.sent = true
			b.items = append(b.items, it)
			b.size += it.size
			n++
		}
		l.queue = l.queue[n:]
		if len(b.items) == 0 {
			return false
		}
		b.records = recordBatch(b.items, p.conf)
		l.sent = len(b.items)
	}
	r := b.records
	r.ProducerID, r.ProducerEpoch, r.FirstSequence = l.producer.id, l.producer.epoch, l.sequence
	return true
}

func recordBatch(items []*item, c *sarama.Config) *sarama.RecordBatch {
	first := items[0].call.at.Truncate(time.Millisecond)
	r := &sarama.RecordBatch{
		Version: 2, Codec: c.Producer.Compression, CompressionLevel: c.Producer.CompressionLevel,
		FirstTimestamp: first, MaxTimestamp: first,
		LastOffsetDelta: int32(len(items) - 1), Records: make([]*sarama.Record, len(items)),
	}
	for i, it := range items {
		it.record.OffsetDelta = int64(i)
		it.record.TimestampDelta = it.call.at.Truncate(time.Millisecond).Sub(first)
		if at := first.Add(it.record.TimestampDelta); at.After(r.MaxTimestamp) {
			r.MaxTimestamp = at
		}
		r.Records[i] = it.record
	}
	return r
}

// settled acts on the result of an attempt. It reports whether the batch is
// done with.
func (l *lane) settled(b *batch, err error) bool {
	p := l.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil, isKerror(err, sarama.ErrDuplicateSequenceNumber):
		for _, it := range b.items {
			p.settle(it, bus.Published, nil)
		}
		l.sent = 0
		l.sequence = int32((int64(l.sequence) + int64(len(b.items))) & 0x7fffffff)
		return true
	case lostTrack(err):
		l.distrust = true
	case permanent(err) && len(b.items) > 1:
		// One of them is at fault: let it fail alone.
		l.split(b)
	case refused(err):
		outcome := bus.Refused
		if b.ambiguous {
			outcome, l.distrust = bus.Unknown, true
		}
		if len(b.items) == 0 {
			b.items, l.queue = l.queue, nil // nothing was cut; it concerns all that wait
			outcome = bus.NotSent
		}
		for _, it := range b.items {
			p.settle(it, outcome, err)
		}
		l.sent = 0
		return true
	default:
		if !errors.As(err, new(unsent)) {
			b.ambiguous = true
		}
	}
	for _, it := range b.items {
		it.call.trouble = err
	}
	for _, it := range l.queue {
		it.call.trouble = err
	}
	return false
}

// split keeps the first half of the batch and puts the rest back; p.mu is held.
func (l *lane) split(b *batch) {
	half := len(b.items) / 2
	rest := b.items[half:]
	for _, it := range rest {
		it.sent = b.ambiguous
	}
	l.queue = append(append(make([]*item, 0, len(rest)+len(l.queue)), rest...), l.queue...)
	b.items = b.items[:half:half]
	b.size = 0
	for _, it := range b.items {
		b.size += it.size
	}
	b.records = recordBatch(b.items, l.publisher.conf)
	l.sent = len(b.items)
	l.distrust = l.distrust || b.ambiguous
}

// pause waits before the next attempt. It reports false when the publisher closes.
func (l *lane) pause(d time.Duration, err error) bool {
	p := l.publisher
	if permanent(err) {
		return true // what is sent next is smaller, so it need not wait
	}
	if isKerror(err, sarama.ErrUnknownTopicOrPartition) {
		p.topics.forget(l.of.topic)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.stop:
		return false
	}
	// The leader may have moved. If nobody answers, the next attempt says so.
	_ = p.client.RefreshMetadata(l.of.topic)
	return true
}

// wanted reports whether somebody still waits for one of the batch's messages.
func (l *lane) wanted(b *batch) bool {
	p := l.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.items == nil {
		l.sift()
		return len(l.queue) > 0
	}
	for _, it := range b.items {
		if !it.call.over {
			return true
		}
	}
	return false
}

// giveUp settles a batch that nobody waits for any more, or all there is when
// the publisher closes.
func (l *lane) giveUp(b *batch) {
	p := l.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	// If it is in the log, the next batch with its sequence number would be
	// taken for the same one and dropped.
	l.distrust = l.distrust || b.ambiguous
	l.sent = 0
	closing := false
	select {
	case <-p.stop:
		closing = true
	default:
	}
	for _, it := range b.items {
		err := it.call.trouble
		if closing {
			err = errClosed
		}
		p.settle(it, bus.Unknown, err)
	}
	if closing {
		for _, it := range l.queue {
			p.settle(it, bus.NotSent, errClosed)
		}
		l.queue = nil
	}
}

// lostTrack reports whether the brokers and the lane disagree about its
// producer id. The batch is not in the log, unless an earlier attempt was
// ambiguous; then it may get there twice, which beats never.
func lostTrack(err error) bool {
	return isKerror(err, sarama.ErrOutOfOrderSequenceNumber, sarama.ErrUnknownProducerID,
		sarama.ErrInvalidProducerEpoch, sarama.ErrInvalidProducerIDMapping, sarama.ErrProducerFenced)
}

// refused reports whether trying again is of no use.
func refused(err error) bool {
	return permanent(err) || isKerror(err,
		sarama.ErrTopicAuthorizationFailed, sarama.ErrClusterAuthorizationFailed, sarama.ErrSASLAuthenticationFailed,
		sarama.ErrUnsupportedSASLMechanism, sarama.ErrInvalidRequiredAcks, sarama.ErrPolicyViolation,
		sarama.ErrUnsupportedVersion, sarama.ErrSecurityDisabled)
}
