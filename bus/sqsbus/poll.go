package sqsbus

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/uuid"

	"github.com/millrace-go/millrace/internal/backoff"
)

// retry is how the background parts wait after an error.
var retry = backoff.Policy{Initial: 50 * time.Millisecond, Max: 5 * time.Second, Jitter: 0.3}

// maxRequests is how many requests for messages are open at a time at most.
const maxRequests = 8

// poll receives messages until the intake ends. While the queue is idle, one
// request waits for messages; while every request comes back full, more of them
// go out together. A request that is open when the intake ends is not broken off:
// SQS may have given it messages, which then would be nobody's for a while.
func (s *subscription) poll(intake, values context.Context) {
	requests, failures := 1, 0
	for intake.Err() == nil {
		room := s.free()
		if room == 0 {
			select {
			case <-s.room:
			case <-intake.Done():
			}
			continue
		}
		n := min(requests, (room+batchSize-1)/batchSize)
		got := make([]int, n)
		errs := make([]error, n)
		var wg sync.WaitGroup
		for i := range n {
			most := min(batchSize, room-i*batchSize)
			wg.Go(func() { got[i], errs[i] = s.receive(values, most, n == 1) })
		}
		wg.Wait()
		var failed error
		all := 0
		for i := range n {
			all += got[i]
			if errs[i] != nil {
				failed = errs[i]
			}
		}
		switch {
		case failed != nil:
			failures++
			s.log.Warn("bus: receiving failed; trying again", slog.Int("attempt", failures), slog.Any("error", failed))
			if gone(failed) {
				s.restore(values)
			}
			if backoff.Sleep(intake, retry.Delay(failures)) != nil {
				return
			}
			requests = 1
		case all == min(room, n*batchSize):
			failures, requests = 0, min(2*requests, maxRequests)
		default:
			failures, requests = 0, 1
			if pause := s.driver.cfg.Wait; all == 0 && pause < time.Second && backoff.Sleep(intake, pause) != nil {
				return
			}
		}
	}
}

// free is the room in the window.
func (s *subscription) free() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.window - s.open
}

// restore makes a queue that was deleted again.
func (s *subscription) restore(ctx context.Context) {
	s.driver.queues.forget(s.queue.topic)
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	if q, err := s.driver.queues.get(ctx, s.queue.topic); err != nil {
		s.log.Warn("bus: the queue is gone and could not be made again", slog.Any("error", err))
	} else if q.url != s.queue.url {
		s.log.Error("bus: the queue has another URL now; subscribe again", slog.String("url", q.url))
	}
}

// receive takes up to most messages and returns how many there were.
func (s *subscription) receive(ctx context.Context, most int, wait bool) (int, error) {
	cfg := s.driver.cfg
	in := &sqs.ReceiveMessageInput{
		QueueUrl:              &s.queue.url,
		MaxNumberOfMessages:   int32(most),
		VisibilityTimeout:     int32(cfg.Visibility / time.Second),
		MessageAttributeNames: []string{"All"},
		// When an answer is lost the client asks again, and gets the same messages.
		ReceiveRequestAttemptId: aws.String(uuid.NewString()),
	}
	limit := opTimeout
	if wait {
		in.WaitTimeSeconds = int32(cfg.Wait / time.Second)
		limit += cfg.Wait
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := s.driver.client.ReceiveMessage(ctx, in)
	if err != nil {
		return 0, err
	}
	// Ours from when SQS picked them, which is as the answer was sent.
	until := time.Now().Add(cfg.Visibility - min(time.Second, cfg.Visibility/4))
	var batch []*taken
	for _, m := range out.Messages {
		msg, err := decode(m)
		if err != nil {
			s.log.Error("bus: a message is delivered as far as it could be read", slog.String("message", msg.UUID), slog.Any("error", err))
		}
		batch = append(batch, newTaken(msg, aws.ToString(m.ReceiptHandle), until))
	}
	s.add(batch)
	return len(batch), nil
}

func newTaken(msg *message.Message, receipt string, until time.Time) *taken {
	return &taken{msg: msg, receipt: receipt, until: until, revoked: make(chan struct{})}
}

// add queues received messages, or hands them back when the intake has ended.
func (s *subscription) add(batch []*taken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open += len(batch)
	for _, t := range batch {
		s.keeper.keep(t)
		if s.ended {
			s.handBack(t)
			continue
		}
		s.waiting = append(s.waiting, t)
	}
	if len(batch) > 0 {
		signal(s.kicked)
	}
}
