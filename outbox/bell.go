package outbox

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// tick is the least time between two notifications of one process. NOTIFY takes a lock of the
// whole database while it commits, so notifications must not follow the rate of appends.
const tick = 2 * time.Millisecond

// bell sends notifications: the first of a burst at once, then at most one per tick, and one
// after the last ring of the burst. Its goroutine lives as long as a burst.
type bell struct {
	notify  func(context.Context) error
	timeout time.Duration
	report  reporter // of the goroutine

	mu      sync.Mutex
	rung    bool          // requested since the last notification began
	done    chan struct{} // closed when the goroutine ends; nil when there is none
	closed  bool
	closing chan struct{}
}

const wakingFails = "outbox: waking other processes failed; they look by themselves after their interval"

func newBell(notify func(context.Context) error, cfg Config) *bell {
	return &bell{notify: notify, timeout: cfg.NotifyTimeout, report: newReporter(cfg.Logger), closing: make(chan struct{})}
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.rung = true
	if b.done == nil {
		b.done = make(chan struct{})
		go b.toll(b.done)
	}
}

func (b *bell) toll(done chan struct{}) {
	defer close(done)
	timer := time.NewTimer(tick)
	defer timer.Stop()
	for {
		b.mu.Lock()
		if !b.rung {
			b.done = nil
			b.mu.Unlock()
			return
		}
		b.rung = false
		b.mu.Unlock()

		ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
		err := b.notify(ctx)
		cancel()
		if err != nil {
			b.report.failing(wakingFails, "error", err)
		} else {
			clear(b.report.lasting)
		}
		timer.Reset(tick)
		select {
		case <-timer.C:
		case <-b.closing: // a notification that was requested before is still sent, without the wait
		}
	}
}

func (b *bell) close(ctx context.Context) error {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.closing)
	}
	done := b.done
	b.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("outbox: close: a wake-up of other processes is still being sent: %w", ctx.Err())
	}
}
