package sqsbus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

const (
	opTimeout = 30 * time.Second
	batchSize = 10 // the limit of one request to SQS
	senders   = 8  // requests of one call of Publish at a time
)

// sink is the destination of topics' messages: queues, or topics of SNS.
type sink interface {
	// address is the destination of a topic's messages. It is created if it does not exist.
	address(ctx context.Context, topic string) (string, error)
	// forget makes the next call of address look the destination up again.
	forget(topic string)
	// send sends a request and returns which of its entries were refused.
	send(ctx context.Context, address string, batch []types.SendMessageBatchRequestEntry) (failed []types.BatchResultErrorEntry, err error)
}

// publisher implements message.Publisher.
type publisher struct {
	sink sink
	cfg  Config

	mu      sync.Mutex
	closed  bool
	pending sync.WaitGroup
}

// Publish returns when SQS has all the messages. A request to a FIFO queue holds at most
// one message of a key, because SQS may accept a later entry of a request and refuse an
// earlier one; different keys go together and in parallel. The end of the first message's
// context ends the call. A [bus.PublishError] reports which of the messages may be there:
// publishing them again within five minutes leaves one of each.
func (p *publisher) Publish(topic string, messages ...*message.Message) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return translate("publish", bus.ErrClosed)
	}
	p.pending.Add(1)
	p.mu.Unlock()
	defer p.pending.Done()

	if len(messages) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(messages[0].Context(), opTimeout)
	defer cancel()
	outcomes := slices.Repeat([]busdriver.Outcome{busdriver.NotSent}, len(messages))
	err := p.publish(ctx, topic, messages, outcomes)
	if err == nil {
		return nil
	}
	first := busdriver.Culprit(outcomes)
	return translate("send", &bus.PublishError{Topic: topic, Outcomes: outcomes, First: first, ID: messages[first].UUID, Err: err})
}

// publish fills in the outcome of each message.
func (p *publisher) publish(ctx context.Context, topic string, messages []*message.Message, outcomes []busdriver.Outcome) error {
	all := make([]entry, len(messages))
	for i, msg := range messages {
		limit := p.cfg.MaxBytes
		if !busdriver.IsLetter(msg) {
			limit -= busdriver.LetterBytes
		}
		e, err := encode(msg, limit)
		if err != nil {
			outcomes[i] = busdriver.Refused
			return err
		}
		e.outcome = &outcomes[i]
		all[i] = e
	}
	to := target{topic: topic}
	var err error
	if to.address, err = p.sink.address(ctx, topic); err != nil {
		return err
	}
	for _, round := range p.rounds(all) {
		if err := p.send(ctx, to, round); err != nil {
			return err
		}
	}
	return nil
}

// target is the destination of a call's messages.
type target struct{ topic, address string }

// rounds groups the messages that may be in flight together. The n-th message of each key
// is in the n-th round; without order there is one round, and messages have no group id.
func (p *publisher) rounds(all []entry) (rounds [][]entry) {
	if p.cfg.Standard {
		for i := range all {
			all[i].MessageGroupId, all[i].MessageDeduplicationId = nil, nil
		}
		return [][]entry{all}
	}
	sent := make(map[string]int)
	for _, e := range all {
		n := sent[e.key]
		sent[e.key]++
		if n == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[n] = append(rounds[n], e)
	}
	return rounds
}

// send sends the messages of a round.
func (p *publisher) send(ctx context.Context, to target, entries []entry) error {
	var group errgroup.Group
	group.SetLimit(senders)
	for len(entries) > 0 {
		n, size := 0, 0
		for n < len(entries) && n < batchSize {
			if size += entries[n].size; n > 0 && size > p.cfg.MaxBytes {
				break
			}
			n++
		}
		batch := entries[:n]
		entries = entries[n:]
		group.Go(func() error { return p.request(ctx, to, batch) })
	}
	return group.Wait()
}

func (p *publisher) request(ctx context.Context, to target, batch []entry) error {
	entries := make([]types.SendMessageBatchRequestEntry, len(batch))
	for i, e := range batch {
		entries[i] = e.SendMessageBatchRequestEntry
		entries[i].Id = aws.String(strconv.Itoa(i))
	}
	failed, err := p.sink.send(ctx, to.address, entries)
	if err != nil {
		if gone(err) {
			p.sink.forget(to.topic)
			return err
		}
		for _, e := range batch {
			*e.outcome = busdriver.Unknown
		}
		return err
	}
	for _, e := range batch {
		*e.outcome = busdriver.Published
	}
	var errs []error
	for _, f := range failed {
		i, err := strconv.Atoi(aws.ToString(f.Id))
		if err != nil || i >= len(batch) {
			return fmt.Errorf("AWS has refused an entry %q that was not sent", aws.ToString(f.Id))
		}
		*batch[i].outcome = busdriver.Refused
		err = fmt.Errorf("message %s: %s: %s", batch[i].uuid, aws.ToString(f.Code), aws.ToString(f.Message))
		if final(f) {
			err = fault.MarkPermanent(err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// gone reports whether the queue, or the topic of SNS, was deleted.
func gone(err error) bool {
	var missing *types.QueueDoesNotExist
	var absent *snstypes.NotFoundException
	return errors.As(err, &missing) || errors.As(err, &absent) || isCode(err, "AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")
}

// Close waits for the calls of Publish in flight and refuses further ones.
func (p *publisher) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.pending.Wait()
	return nil
}
