package pgbus

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

const (
	// tick is the least time between two notifications of one process. NOTIFY
	// takes a lock of the whole database while it commits, so it must not follow
	// the rate of messages.
	tick = 5 * time.Millisecond
	// maxText is what the server takes at most.
	maxText = 7999
	// notifyTimeout bounds one notification; without it the others look by
	// themselves after their interval.
	notifyTimeout = 5 * time.Second
)

// bell tells the other processes which lanes have new entries, and that a group
// has changed: the first of a burst at once, then what has come together in a
// tick.
type bell struct {
	id   string // so that a process does not wake itself a second time
	rung chan struct{}

	mu     sync.Mutex
	lanes  map[int]struct{}
	groups bool
}

func newBell() *bell {
	return &bell{id: rand.Text(), rung: make(chan struct{}, 1), lanes: make(map[int]struct{})}
}

// ring notes a change. It never blocks.
func (b *bell) ring(c logsub.Change) {
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

// run sends what was rung until ctx is done, and then what is left.
func (b *bell) run(ctx context.Context, log *slog.Logger, notify func(ctx context.Context, text string) error) {
	for {
		select {
		case <-b.rung:
		case <-ctx.Done():
		}
		if text := b.take(); text != "" {
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
			err := notify(bounded, text)
			cancel()
			if err != nil {
				log.Warn("bus: waking other processes failed; they look by themselves after their interval", slog.Any("error", err))
			}
		}
		if backoff.Sleep(ctx, tick) != nil {
			b.mu.Lock()
			left := b.groups || len(b.lanes) > 0
			b.mu.Unlock()
			if !left {
				return
			}
		}
	}
}

// take returns the text for what was rung, "" for nothing: the sender, "g" when
// a group has changed, and lanes, or "*" for too many of them.
func (b *bell) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.groups && len(b.lanes) == 0 {
		return ""
	}
	text := b.id
	if b.groups {
		text += " g"
	}
	if numbers := b.numbers(); len(text)+len(numbers) <= maxText {
		text += numbers
	} else {
		text += " *"
	}
	b.groups = false
	clear(b.lanes)
	return text
}

// numbers lists the lanes, a space before each.
func (b *bell) numbers() string {
	var out strings.Builder
	for _, n := range slices.Sorted(maps.Keys(b.lanes)) {
		out.WriteByte(' ')
		out.WriteString(strconv.Itoa(n))
	}
	return out.String()
}

// waker is what a notification wakes: a hub.
type waker interface {
	Wake(lanes ...int)
	WakeGroups()
}

// hear acts on a notification. One without a text, as after a connection was
// lost, and one that is not understood, wake everybody.
func (b *bell) hear(text string, w waker) {
	sender, words, _ := strings.Cut(text, " ")
	if sender == b.id {
		return
	}
	words = strings.TrimSpace(words)
	var lanes []int
	for _, word := range strings.Fields(words) {
		if word == "g" {
			w.WakeGroups()
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil {
			words = ""
			break
		}
		lanes = append(lanes, n)
	}
	switch {
	case words == "":
		w.WakeGroups()
		w.Wake()
	case len(lanes) > 0:
		w.Wake(lanes...)
	}
}
