package queue

import (
	"context"
	"sync"
)

// beats are orders that were heard of and of which the store does not know yet.
// They ride along with visits; a crowd of them goes alone.
type beats struct {
	mu     sync.Mutex
	epoch  uint64
	orders []int64
	calls  chan struct{} // one for each that is under way
}

// maxPending bounds the beats of an event that wait to be sent. Who polls when half
// of it is full sends a call's worth first, so that a crowd is no faster than the
// store is told of it; what comes while the store is away is heard of at the next
// poll.
const maxPending = 32 * MaxBeats

// maxSending bounds the calls that tell of an event's beats at once.
const maxSending = 4

// add gathers a beat, and says whether there was room and how many there are.
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
func (b *beats) take() Beats {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.orders) == 0 {
		return Beats{}
	}
	n := min(len(b.orders), MaxBeats)
	taken := Beats{Epoch: b.epoch, Orders: b.orders[:n:n]}
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

// heardOf gathers the beat of an order that waits, once a minute, and sends what
// was gathered when it fills a call.
func (l *line) heardOf(ctx context.Context, s *snapshot, b *block, order, minute int64) {
	if !b.heard.first(minute, order) {
		return
	}
	n, ok := l.beats.add(s.state.Epoch, order)
	if !ok {
		b.heard.forget(order)
	}
	if n >= MaxBeats {
		l.send(ctx, n >= maxPending/2)
	}
}

// send makes one call for what was gathered, unless the store has just failed. When
// enough others do it waits for one of them, or leaves it to them. A beat that is
// lost is told again by the next poll.
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
	// A failure is counted, and said to those who ask for something.
	_, _ = l.call(ctx, nil)
}

// unheard takes back beats that did not reach the store.
func (l *line) unheard(lost Beats) {
	l.counts.beatsLost.Add(int64(len(lost.Orders)))
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

// Flush tells the store of those who were heard of and of whom it does not know
// yet: for the end of a process, after its last poll.
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
