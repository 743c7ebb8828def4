package sqsbus

import (
	"context"
	"log/slog"
	"sync"
	"time"

	busdriver "github.com/millrace-go/millrace/bus/driver"
)

// taken is one message that SQS has given this source for a while; it implements
// [busdriver.Delivery].
type taken struct {
	source  *source
	message busdriver.Message
	receipt string

	// Guarded by the source's mu.
	backs int
	due   time.Time // after Back: when to hand it over again

	mu     sync.Mutex
	until  time.Time // the least time for which SQS leaves it to us
	lost   bool      // SQS has given it to another consumer, or may have
	ctx    context.Context
	revoke context.CancelCauseFunc
}

// Message is that of [busdriver.Delivery].
func (t *taken) Message() busdriver.Message { return t.message }

// Context is that of [busdriver.Delivery].
func (t *taken) Context() context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx == nil {
		t.ctx, t.revoke = context.WithCancelCause(t.source.base)
		if t.lost {
			t.revoke(busdriver.ErrRevoked)
		}
	}
	return t.ctx
}

// Done is that of [busdriver.Delivery].
func (t *taken) Done() {
	t.settled(func(s *source) {
		s.settle()
		s.keeper.delete(t)
	})
}

// Back is that of [busdriver.Delivery].
func (t *taken) Back() {
	t.settled(func(s *source) {
		t.backs++
		wait := nackDelay.Delay(t.backs)
		t.due = time.Now().Add(wait)
		s.returned = append(s.returned, t)
		time.AfterFunc(wait, s.ready.Send)
	})
}

// settled calls do for a message that is handed over, with the source's mu held.
func (t *taken) settled(do func(*source)) {
	s := t.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, out := s.out[t]; !out {
		return
	}
	delete(s.out, t)
	do(s)
}

// left is how long the message certainly belongs to this source.
func (t *taken) left() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost {
		return 0
	}
	return time.Until(t.until)
}

func (t *taken) extend(until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = until
}

// lose takes the message away from its handler.
func (t *taken) lose() {
	t.mu.Lock()
	t.lost = true
	if t.revoke != nil {
		t.revoke(busdriver.ErrRevoked)
	}
	t.mu.Unlock()
	t.settled(func(s *source) {
		s.log.Warn("bus: SQS has taken a message back, and delivers it again", slog.String("id", t.message.ID))
		s.settle()
		s.keeper.forget(t)
	})
}
