package queue

import (
	"context"
	"sync"

	"github.com/millrace-go/millrace/queue/driver"
)

// beats are the orders with a sign of life that the store does not know yet. They
// are sent along with visits; a full call of them is sent on its own.
type beats struct {
	mu     sync.Mutex
	epoch  uint64
	orders []int64
	calls  chan struct{} // one for each that is under way
}

// maxPending bounds the pending beats of an event. When half of it is full, a poll
// first sends one call of them, so that a crowd polls no faster than the store
// takes the beats. A beat that finds no room during an outage of the store is added
// by its user's next poll.
const maxPending = 32 * driver.MaxBeats

// maxSending bounds the concurrent calls that send an event's beats.
const maxSending = 4

// add adds a beat, and says whether there was room and how many beats are pending.
func (b *beats) add(epoch uint64, order int64) (n int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.epoch != epoch {
		b.epoch, b.orders = epoch, nil
	}
	if ok = len(b.orders) < maxPending; ok {
		b.orders = append(b.orders, order)
	}
	return len(b.orders), ok
}

// take takes as many as fit into a call.
func (b *beats) take() driver.Beats {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.orders) == 0 {
		return driver.Beats{}
	}
	n := min(len(b.orders), driver.MaxBeats)
	taken := driver.Beats{Epoch: b.epoch, Orders: b.orders[:n:n]}
	if b.orders = b.orders[n:]; len(b.orders) == 0 {
		b.orders = nil
	}
	return taken
}

func (b *beats) pending() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.orders)
}

// heardOf adds a beat for a waiting order, once a minute, and sends the pending
// beats when they fill a call.
func (l *line) heardOf(ctx context.Context, s *snapshot, b *block, order, minute int64) {
	if !b.heard.first(minute, order) {
		return
	}
	n, ok := l.beats.add(s.state.Epoch, order)
	if !ok {
		b.heard.forget(order)
	}
	if n >= driver.MaxBeats {
		l.send(ctx, n >= maxPending/2)
	}
}

// send makes one call for the pending beats, unless the store has just failed. When
// enough other calls are in flight, send waits for one of them, or returns. A lost
// beat is sent again by the next poll.
func (l *line) send(ctx context.Context, wait bool) {
	if l.pausing() {
		return
	}
	select {
	case l.beats.calls <- struct{}{}:
	default:
		if !wait {
			return
		}
		select {
		case l.beats.calls <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
	defer func() { <-l.beats.calls }()
	if l.pausing() || l.beats.pending() == 0 {
		return
	}
	ctx, cancel := l.room.bounded(ctx)
	defer cancel()
	// A failure is counted, and reported to the callers that ask for something.
	_, _ = l.call(ctx, nil)
}

// unheard marks beats that did not reach the store as not sent.
func (l *line) unheard(lost driver.Beats) {
	l.room.counts.beatsLost.Add(int64(len(lost.Orders)))
	s := l.snap.Load()
	if s == nil || s.state.Epoch != lost.Epoch {
		return
	}
	for _, order := range lost.Orders {
		if b := s.block(order); b != nil {
			b.heard.forget(order)
		}
	}
}

// Flush sends the store the signs of life that it does not know yet. Call it at the
// end of a process, after the last poll.
func (r *Room) Flush(ctx context.Context) error {
	var failed error
	r.lines.Range(func(_, value any) bool {
		l := value.(*line)
		for l.beats.pending() > 0 {
			bounded, cancel := r.boundedBy(ctx)
			_, err := l.call(bounded, nil)
			cancel()
			if err != nil {
				failed = refused(ctx, err)
				return ctx.Err() == nil
			}
		}
		return true
	})
	return failed
}
