package txbus

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/backoff"
)

// rounds follows Watermill's subscriber from transaction to transaction. It is its logger and
// determines its pauses, because Watermill reports only there that a transaction has ended, and
// whether it succeeded. An acknowledgement alone does not mean that anything was committed.
type rounds struct {
	life     context.Context // of Watermill's subscriber, which has none
	arrange  func(ctx context.Context) (int, error)
	classify fault.Classifier
	log      *slog.Logger
	idle     backoff.Policy

	trouble atomic.Bool // Watermill logged an error in this round
	empty   int         // rounds without a message in a row
	failed  int         // rounds with an error in a row

	mu      sync.Mutex
	waiting chan bool // waits for the result of this round
}

func newRounds(life context.Context, s *subscription) *rounds {
	d, poll := s.driver, s.driver.Poll
	return &rounds{
		life: life, classify: d.Classify, log: s.log,
		arrange: func(ctx context.Context) (int, error) { return d.Dialect.Arrange(ctx, d.DB, s.topic) },
		idle:    backoff.Policy{Initial: min(5*time.Millisecond, poll), Max: poll},
	}
}

// ending returns a channel that receives once whether the round under way was committed.
func (r *rounds) ending() <-chan bool {
	c := make(chan bool, 1)
	r.mu.Lock()
	r.waiting = c
	r.mu.Unlock()
	return c
}

// HandleError implements Watermill SQL's BackoffManager: a round has ended.
func (r *rounds) HandleError(_ watermill.LoggerAdapter, noMessage bool, err error) time.Duration {
	trouble := r.trouble.Swap(false)
	r.mu.Lock()
	if r.waiting != nil {
		r.waiting <- err == nil && !trouble
		r.waiting = nil
	}
	r.mu.Unlock()
	arranged := 0
	if err == nil && noMessage {
		ctx, cancel := context.WithTimeout(r.life, opTimeout)
		arranged, err = r.arrange(ctx)
		cancel()
	}
	switch {
	case r.life.Err() != nil:
		return 0 // it ends; errors caused by that are not logged
	case err != nil:
		r.failed++
		if r.classify(err) != fault.Transient {
			r.log.Warn("bus: reading failed; trying again", slog.Int("attempt", r.failed), slog.Any("error", err))
		}
		return bad.Delay(r.failed)
	case noMessage && arranged == 0:
		r.failed = 0
		r.empty++
		return r.idle.Delay(r.empty)
	}
	r.empty, r.failed = 0, 0
	return 0
}

// Error, and the rest, implement Watermill's logger.
func (r *rounds) Error(msg string, err error, _ watermill.LogFields) {
	r.trouble.Store(true)
	if r.life.Err() != nil {
		return
	}
	r.log.Warn("bus: watermill: "+msg, slog.Any("error", err))
}
func (r *rounds) Info(string, watermill.LogFields)                 {}
func (r *rounds) Debug(string, watermill.LogFields)                {}
func (r *rounds) Trace(string, watermill.LogFields)                {}
func (r *rounds) With(watermill.LogFields) watermill.LoggerAdapter { return r }
