package sqsbus

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
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
	key     string

	number int                     // of the received messages; guarded by the source's mu
	ctx    context.Context         // ends when SQS has given it to another consumer, or may have
	revoke context.CancelCauseFunc // ends ctx

	mu    sync.Mutex
	until time.Time // the least time for which SQS leaves it to us
}

// Message is that of [busdriver.Delivery].
func (t *taken) Message() busdriver.Message { return t.message }

// Context is that of [busdriver.Delivery].
func (t *taken) Context() context.Context { return t.ctx }

// Done is that of [busdriver.Delivery].
func (t *taken) Done() {
	t.settled(func(s *source) {
		s.room.Send()
		s.keeper.delete(t)
	})
}

// Back is that of [busdriver.Delivery]. The message is handed over again in its old place.
func (t *taken) Back() {
	t.settled(func(s *source) {
		i, _ := slices.BinarySearchFunc(s.waiting, t, func(a, b *taken) int { return cmp.Compare(a.number, b.number) })
		s.waiting = slices.Insert(s.waiting, i, t)
		s.ready.Send()
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
	if t.ctx.Err() != nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Until(t.until)
}

func (t *taken) extend(until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = until
}

// lose takes the message away from its handler.
func (t *taken) lose() {
	t.revoke(busdriver.ErrRevoked)
	s := t.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drop(t) {
		s.log.Warn("bus: SQS has taken a message back, and delivers it again", slog.String("id", t.message.ID))
		s.lost(t)
	}
}
