package logsub

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/internal/backoff"
)

// ringTimeout bounds one call of send. If it fails, the other processes poll after their
// interval.
const ringTimeout = 5 * time.Second

// Bell notifies the other processes of changes: the first change of a burst at once, then all
// changes of a tick together, so that the rate of notifications does not follow the rate of
// messages. Its Ring is a [Backend.Announce].
type Bell struct {
	tick time.Duration
	send func(context.Context, Change) error
	rung kit.Signal

	mu     sync.Mutex
	lanes  map[int]struct{}
	groups bool
}

// NewBell returns a bell that calls send at most once a tick. The lanes it sends are sorted.
func NewBell(tick time.Duration, send func(context.Context, Change) error) *Bell {
	return &Bell{tick: tick, send: send, rung: kit.NewSignal(), lanes: make(map[int]struct{})}
}

// Ring records a change. It never blocks.
func (b *Bell) Ring(c Change) {
	b.mu.Lock()
	for _, n := range c.Lanes {
		b.lanes[n] = struct{}{}
	}
	b.groups = b.groups || c.Groups
	b.mu.Unlock()
	b.rung.Send()
}

// Run sends the recorded changes until ctx is done, and then the rest.
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
