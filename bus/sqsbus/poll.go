package sqsbus

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/uuid"

	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/eventlog"
)

// retry is the backoff of the background parts after an error.
var retry = kit.Backoff{Initial: 50 * time.Millisecond, Max: 5 * time.Second, Jitter: 0.3}

// maxRequests is how many requests for messages are open at a time at most.
const maxRequests = 8

// askLife is how long SQS remembers the id of a request for messages.
const askLife = 5 * time.Minute

// ask is a request for messages. A FIFO queue answers its repetition under the same id with
// the messages of the first answer: without that, the messages of a lost answer would block
// their keys until the visibility ended. A standard queue has no such id, and gives other messages.
type ask struct {
	id    string
	until time.Time // when a repetition could return messages that another consumer has
	most  int
	wait  bool
}

// asks are requests for up to room messages.
func (s *source) asks(room, requests int) []ask {
	out := make([]ask, min(requests, (room+batchSize-1)/batchSize))
	for i := range out {
		out[i] = ask{most: min(batchSize, room-i*batchSize), wait: len(out) == 1}
	}
	return out
}

// poll receives messages until the intake ends. While the queue is idle, one request waits
// for messages; while every request returns full, more of them are sent together. A request
// that is open when the intake ends is cancelled only if its answer is late: SQS may have
// answered it with messages, which then would block until their visibility ended.
func (s *source) poll(intake context.Context) {
	ctx, cut := context.WithCancel(s.base)
	defer cut()
	defer context.AfterFunc(intake, func() { time.AfterFunc(s.driver.cfg.Wait+closeTimeout, cut) })()
	requests, failures := 1, 0
	var unanswered []ask // go first: they may hold messages
	for intake.Err() == nil {
		asks := unanswered
		if len(asks) == 0 {
			room := s.free()
			if room == 0 {
				select {
				case <-s.room:
				case <-intake.Done():
				}
				continue
			}
			asks = s.asks(room, requests)
		}
		most := 0
		for _, a := range asks {
			most += a.most
		}
		got, again, err := s.round(ctx, asks)
		if !s.driver.cfg.Standard {
			unanswered = again
		}
		switch {
		case err != nil:
			failures++
			requests = 1
			s.log.Warn("bus: receiving failed; trying again", slog.Int("attempt", failures), slog.Any("error", err))
			if gone(err) {
				s.restore(s.base)
				unanswered = nil
			}
			if kit.Sleep(intake, retry.Delay(failures)) != nil {
				s.lastRound(s.base, unanswered)
				return
			}
		case got == most:
			failures, requests = 0, min(2*requests, maxRequests)
		default:
			failures, requests = 0, 1
			if pause := s.driver.cfg.Wait; got == 0 && pause < time.Second && kit.Sleep(intake, pause) != nil {
				return
			}
		}
	}
}

// round sends requests together. It returns how many messages arrived, and the requests
// without an answer.
func (s *source) round(ctx context.Context, asks []ask) (got int, again []ask, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, a := range asks {
		wg.Go(func() {
			if a.id == "" || time.Now().After(a.until) {
				a.id, a.until = uuid.NewString(), time.Now().Add(min(s.driver.cfg.Visibility, askLife))
			}
			n, failed := s.receive(ctx, a)
			mu.Lock()
			defer mu.Unlock()
			got += n
			if failed != nil {
				again, err = append(again, a), failed
			}
		})
	}
	wg.Wait()
	return got, again, err
}

// lastRound fetches the messages of requests without an answer, to hand them back.
func (s *source) lastRound(ctx context.Context, unanswered []ask) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	for i := range unanswered {
		unanswered[i].wait = false
	}
	if _, _, err := s.round(ctx, unanswered); err != nil {
		s.log.Warn("bus: messages that SQS may have given us cannot be handed back; it delivers them when their visibility runs out", slog.Any("error", err))
	}
}

// free is the room in the window.
func (s *source) free() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size - len(s.waiting) - len(s.out)
}

// restore creates a queue that was deleted again.
func (s *source) restore(ctx context.Context) {
	s.driver.queues.lose(s.queue.topic, s.group)
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	if q, err := s.driver.queues.get(ctx, s.queue.topic, s.group); err != nil {
		s.log.Warn("bus: the queue is gone and could not be made again", slog.Any("error", err))
	} else if q.url != s.queue.url {
		s.log.Error("bus: the queue has another URL now; subscribe again", slog.String("url", q.url))
	}
}

// receive sends a request and returns how many messages arrived.
func (s *source) receive(ctx context.Context, a ask) (int, error) {
	cfg := s.driver.cfg
	in := &sqs.ReceiveMessageInput{
		QueueUrl:              &s.queue.url,
		MaxNumberOfMessages:   int32(a.most),
		VisibilityTimeout:     int32(cfg.Visibility / time.Second),
		MessageAttributeNames: []string{"All"},
	}
	if !cfg.Standard {
		in.ReceiveRequestAttemptId = &a.id
	}
	limit := opTimeout
	if a.wait {
		in.WaitTimeSeconds = int32(cfg.Wait / time.Second)
		limit += cfg.Wait
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := s.driver.client.ReceiveMessage(ctx, in)
	if err != nil {
		return 0, err
	}
	// They are ours from the moment at which SQS picked them, when it sent the answer.
	until := time.Now().Add(cfg.Visibility - min(time.Second, cfg.Visibility/4))
	var batch []*taken
	for _, m := range out.Messages {
		msg, err := decode(m)
		if err != nil {
			s.log.Error("bus: a message is delivered as far as it could be read", eventlog.Message(msg), slog.Any("error", err))
		}
		t := &taken{
			source: s, receipt: aws.ToString(m.ReceiptHandle), key: event.Key(msg), until: until,
			message: busdriver.Message{ID: msg.UUID, Metadata: msg.Metadata, Payload: msg.Payload},
		}
		t.ctx, t.revoke = context.WithCancelCause(s.base)
		batch = append(batch, t)
	}
	s.add(batch)
	return len(batch), nil
}

// add queues received messages, or hands them back when the intake has ended.
func (s *source) add(batch []*taken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range batch {
		s.keeper.keep(t)
		if s.intake.Err() != nil {
			s.keeper.release(t)
			continue
		}
		s.received++
		t.number = s.received
		s.waiting = append(s.waiting, t)
	}
	if len(batch) > 0 {
		s.ready.Send()
	}
}
