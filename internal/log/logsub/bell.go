package logsub

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
)

// ringTimeout bounds one call of a bell. Without it the others look by themselves
// after their interval.
const ringTimeout = 5 * time.Second

// Bell tells the other processes what has changed: the first of a burst at once, then
// what has come together in a tick, so that telling does not follow the rate of
// messages. [Bell.Ring] is a [Backend.Announce].
type Bell struct {
	tick time.Duration
	send func(context.Context, Change) error
	rung chan struct{}

	mu     sync.Mutex
	lanes  map[int]struct{}
	groups bool
}

// NewBell returns a bell that calls send at most once a tick. The lanes of what it sends
// are sorted.
func NewBell(tick time.Duration, send func(context.Context, Change) error) *Bell {
	return &Bell{tick: tick, send: send, rung: make(chan struct{}, 1), lanes: make(map[int]struct{})}
}

// Ring notes a change. It never blocks.
func (b *Bell) Ring(c Change) {
	b.mu.Lock()
	for _, n := range c.Lanes {
		b.lanes[n] = struct{}{}
	}
	b.groups = b.groups || c.Groups
	b.mu.Unlock()
	select {
	case b.rung <- struct{}{}:
	default:
	}
}

// Run sends what was rung until ctx is done, and then what is left.
func (b *Bell) Run(ctx context.Context, log *slog.Logger) {
	for ended := false; !ended; {
		select {
		case <-b.rung:
		case <-ctx.Done():
			ended = true
		}
		if c, some := b.take(); some {
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), ringTimeout)
			err := b.send(bounded, c)
			cancel()
			if err != nil {
				log.Warn("bus: waking other processes failed; they look by themselves after their interval", slog.Any("error", err))
			}
		}
		if !ended {
			backoff.Sleep(ctx, b.tick) //nolint:errcheck // the next turn sends what is left
		}
	}
}

func (b *Bell) take() (c Change, some bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c = Change{Lanes: slices.Sorted(maps.Keys(b.lanes)), Groups: b.groups}
	b.groups = false
	clear(b.lanes)
	return c, c.Groups || len(c.Lanes) > 0
}
