package sqsbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

const (
	// gather is how long answers wait for others to share a request with.
	gather = 5 * time.Millisecond
	// closeTimeout bounds how long Close waits for an unavailable server. Messages that it
	// could not delete by then are delivered again.
	closeTimeout = 5 * time.Second
)

// keeper sends SQS the outcomes of the messages that it has given us: it deletes them,
// hands them back, and extends the time until SQS would give them to another consumer.
type keeper struct {
	source *source
	kick   kit.Signal
	over   chan struct{}   // closed by end
	life   context.Context // ends soon after over: so do requests
	cancel context.CancelFunc
	ended  chan struct{} // closed after run

	mu       sync.Mutex
	held     map[*taken]struct{} // ours, whether handed over or not
	deletes  []*taken
	releases []*taken
}

func newKeeper(s *source) *keeper {
	k := &keeper{source: s, kick: kit.NewSignal(), over: make(chan struct{}), ended: make(chan struct{}), held: make(map[*taken]struct{})}
	k.life, k.cancel = context.WithCancel(s.base)
	return k
}

func (k *keeper) keep(t *taken) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[t] = struct{}{}
}

func (k *keeper) forget(t *taken) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, t)
}

func (k *keeper) delete(t *taken) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.deletes = append(k.deletes, t)
	k.kick.Send()
}

func (k *keeper) release(t *taken) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, t) // it must not be extended after that
	k.releases = append(k.releases, t)
	k.kick.Send()
}

// end lets run finish its work, within a time limit.
func (k *keeper) end() {
	close(k.over)
	limit := time.AfterFunc(closeTimeout, k.cancel)
	<-k.ended
	limit.Stop()
	k.cancel()
}

func (k *keeper) run() {
	defer close(k.ended)
	defer k.finish()
	failures := 0
	for {
		select {
		case <-k.kick:
			if kit.Sleep(k.life, gather) != nil {
				return
			}
		case <-k.over:
			return
		}
		err := k.answer(k.life)
		if err == nil {
			failures = 0
			continue
		}
		failures++
		k.source.log.Warn("bus: SQS could not be told what was done; trying again", slog.Int("attempt", failures), slog.Any("error", err))
		timer := time.NewTimer(retry.Delay(failures))
		select {
		case <-timer.C:
		case <-k.over:
		}
		timer.Stop()
		k.kick.Send()
	}
}

// finish sends the remaining answers.
func (k *keeper) finish() {
	for attempt := 1; ; attempt++ {
		err := k.answer(k.life)
		if err == nil {
			return
		}
		if kit.Sleep(k.life, retry.Delay(attempt)) != nil {
			k.source.failed(fmt.Errorf("%s: not all that was acknowledged could be deleted: %w", k.source.queue.topic, err))
			return
		}
	}
}

// answer sends the due answers. Answers that fail by SQS's fault stay due.
func (k *keeper) answer(ctx context.Context) error {
	k.mu.Lock()
	deletes, releases := k.deletes, k.releases
	k.deletes, k.releases = nil, nil
	k.mu.Unlock()
	undeleted, err := k.inBatches(ctx, deletes, k.deleteBatch)
	unreleased, rerr := k.inBatches(ctx, releases, func(ctx context.Context, batch []*taken) (map[int]bool, error) {
		return k.visibility(ctx, batch, 0)
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	k.deletes, k.releases = append(undeleted, k.deletes...), append(unreleased, k.releases...)
	return errors.Join(err, rerr)
}

// request sends one batch and returns which entries failed, and for each whether the
// message itself is at fault: its receipt has expired.
type request func(ctx context.Context, batch []*taken) (failed map[int]bool, err error)

// inBatches sends all, up to senders requests at a time, and returns the messages that must
// be sent again.
func (k *keeper) inBatches(ctx context.Context, all []*taken, send request) (again []*taken, err error) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(senders)
	for batch := range slices.Chunk(all, batchSize) {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, opTimeout)
			defer cancel()
			failed, err := send(ctx, batch)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && !gone(err) {
				again = append(again, batch...)
				return err
			}
			err = nil
			for i, t := range batch {
				if ours, bad := failed[i]; bad && !ours {
					again, err = append(again, t), errors.New("SQS has refused a part of a request")
					continue
				}
				k.forget(t)
			}
			return err
		})
	}
	err = group.Wait()
	return again, err
}

func (k *keeper) deleteBatch(ctx context.Context, batch []*taken) (map[int]bool, error) {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &k.source.queue.url}
	for i, t := range batch {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &t.receipt})
	}
	out, err := k.source.driver.client.DeleteMessageBatch(ctx, in)
	if err != nil {
		return nil, err
	}
	return failures(out.Failed), nil
}

// visibility sets for how long from now SQS hides the messages from other consumers.
func (k *keeper) visibility(ctx context.Context, batch []*taken, d time.Duration) (map[int]bool, error) {
	in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &k.source.queue.url}
	for i, t := range batch {
		in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &t.receipt, VisibilityTimeout: int32(d / time.Second),
		})
	}
	out, err := k.source.driver.client.ChangeMessageVisibilityBatch(ctx, in)
	if err != nil {
		return nil, err
	}
	return failures(out.Failed), nil
}

// failures maps the index of each refused entry to whether the refusal is final.
func failures(failed []types.BatchResultErrorEntry) map[int]bool {
	out := make(map[int]bool, len(failed))
	for _, f := range failed {
		if i, err := strconv.Atoi(aws.ToString(f.Id)); err == nil {
			out[i] = final(f)
		}
	}
	return out
}

// extendRegularly extends the time for held messages until ctx ends. It runs beside run: a
// request to delete messages may take longer than their visibility.
func (k *keeper) extendRegularly(ctx context.Context) {
	tick := time.NewTicker(k.source.driver.cfg.Visibility / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			k.extend(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// extend requests more time for all held messages, and ends before the next time to do so.
func (k *keeper) extend(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, k.source.driver.cfg.Visibility/3)
	defer cancel()
	k.mu.Lock()
	all := slices.Collect(maps.Keys(k.held))
	k.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(senders)
	for batch := range slices.Chunk(all, batchSize) {
		group.Go(func() error { return k.extendBatch(bounded, batch) })
	}
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		k.source.log.Warn("bus: the time for messages could not be extended", slog.Any("error", err))
	}
}

// extendBatch extends the time for one batch. A message counts as lost if SQS has given it to
// another consumer, or may have.
func (k *keeper) extendBatch(ctx context.Context, batch []*taken) error {
	visibility := k.source.driver.cfg.Visibility
	asked := time.Now()
	failed, err := k.visibility(ctx, batch, visibility)
	for i, t := range batch {
		final, bad := failed[i]
		switch {
		case err == nil && !bad:
			t.extend(asked.Add(visibility))
		case final || t.left() <= 0:
			t.lose()
		}
	}
	return err
}
