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
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

const (
	opTimeout = 30 * time.Second
	batchSize = 10 // what SQS takes in one request
	senders   = 8  // requests of one call of Publish at a time
)

// publisher implements message.Publisher.
type publisher struct {
	client *sqs.Client
	queues *queues
	cfg    Config

	mu      sync.Mutex
	closed  bool
	pending sync.WaitGroup
}

// Publish returns when SQS has all the messages. A request to a FIFO queue holds at most
// one message of a key, since SQS may take a later entry of a request and refuse an
// earlier one; different keys go together and in parallel. The end of the first
// message's context ends the call. A [bus.PublishError] says which of the messages may be
// there: publishing them again within five minutes leaves one of each.
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
	outcomes := slices.Repeat([]bus.Outcome{bus.NotSent}, len(messages))
	err := p.publish(ctx, topic, messages, outcomes)
	if err == nil {
		return nil
	}
	first := busdriver.Culprit(outcomes)
	return translate("send", &bus.PublishError{Topic: topic, Outcomes: outcomes, First: first, ID: messages[first].UUID, Err: err})
}

// publish fills in what becomes of each message.
func (p *publisher) publish(ctx context.Context, topic string, messages []*message.Message, outcomes []bus.Outcome) error {
	all := make([]entry, len(messages))
	for i, msg := range messages {
		limit := p.cfg.MaxBytes
		if !bus.IsLetter(msg) {
			limit -= bus.LetterBytes
		}
		e, err := encode(msg, limit)
		if err != nil {
			outcomes[i] = bus.Refused
			return err
		}
		e.outcome = &outcomes[i]
		all[i] = e
	}
	q, err := p.queues.get(ctx, topic)
	if err != nil {
		return err
	}
	for _, round := range p.rounds(all) {
		if err := p.send(ctx, q, round); err != nil {
			return err
		}
	}
	return nil
}

// rounds are what may be under way together. The n-th message of each key goes in the
// n-th round; without order there is one round, and no message says which key it has.
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
func (p *publisher) send(ctx context.Context, q queue, entries []entry) error {
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
		group.Go(func() error { return p.request(ctx, q, batch) })
	}
	return group.Wait()
}

func (p *publisher) request(ctx context.Context, q queue, batch []entry) error {
	in := &sqs.SendMessageBatchInput{QueueUrl: &q.url, Entries: make([]types.SendMessageBatchRequestEntry, len(batch))}
	for i, e := range batch {
		in.Entries[i] = e.SendMessageBatchRequestEntry
		in.Entries[i].Id = aws.String(strconv.Itoa(i))
	}
	out, err := p.client.SendMessageBatch(ctx, in)
	if err != nil {
		if gone(err) {
			p.queues.forget(q.topic)
			return err
		}
		for _, e := range batch {
			*e.outcome = bus.Unknown
		}
		return err
	}
	for _, e := range batch {
		*e.outcome = bus.Published
	}
	var errs []error
	for _, f := range out.Failed {
		i, err := strconv.Atoi(aws.ToString(f.Id))
		if err != nil || i >= len(batch) {
			return fmt.Errorf("SQS has refused an entry %q that was not sent", aws.ToString(f.Id))
		}
		*batch[i].outcome = bus.Refused
		err = fmt.Errorf("message %s: %s: %s", batch[i].uuid, aws.ToString(f.Code), aws.ToString(f.Message))
		if f.SenderFault {
			err = fault.MarkPermanent(err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// gone is whether the queue was deleted.
func gone(err error) bool {
	var missing *types.QueueDoesNotExist
	return errors.As(err, &missing) || isCode(err, "AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")
}

// Close waits for the calls of Publish that are under way and refuses further ones.
func (p *publisher) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.pending.Wait()
	return nil
}
