package ops

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/redrive"
)

// letterbox has the letters of one topic, changed by one call at a time.
type letterbox struct {
	*redrive.Letters
	topic string
	apart bool // only consumers apart from the books have the topic
	pass  sync.Mutex

	mu   sync.Mutex
	seen listing   // the last look
	at   time.Time // when it began
}

// listing is a look at the letters of a topic.
type listing struct {
	count  int
	recent []deadLetter // newest first
}

// look asks the transport for the newest letters.
func (b *letterbox) look(ctx context.Context) (listing, error) {
	found, err := b.List(ctx, redrive.Filter{}, 0)
	if err != nil {
		return listing{}, err
	}
	slices.Reverse(found.Letters)
	seen := listing{count: found.Pending, recent: []deadLetter{}}
	for _, letter := range found.Letters[:min(len(found.Letters), maxDeadShown)] {
		seen.recent = append(seen.recent, present(letter))
	}
	return seen, nil
}

// saw keeps the result of a look that began at the time, unless a newer one is known.
func (b *letterbox) saw(found listing, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at.After(b.at) {
		b.seen, b.at = found, at
	}
}

// last is the last look; at is zero without one.
func (b *letterbox) last() (count int, recent []deadLetter, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen.count, append([]deadLetter{}, b.seen.recent...), b.at
}

// refresh looks at the letters now. After a failure the last result stays: another pass holds a
// queue, which then cannot be looked at, or the transport does not answer.
func (b *letterbox) refresh(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	if found, err := b.look(ctx); err == nil {
		b.saw(found, began)
	}
}

// recent are the last known letters: the newer one of the lag and the last look counts them.
func (b *letterbox) recent(seen bus.LagSnapshot) deadLetters {
	lagAt := time.Now().Add(-seen.Age)
	count, recent, at := b.last()
	if n, ok := buried(seen.Lags, b.topic); ok && lagAt.After(at) {
		count, at = n, lagAt
	}
	d := deadLetters{Topic: b.topic, Count: count, Recent: recent[:min(count, len(recent))], Apart: b.apart}
	if !at.IsZero() {
		d.AgeSeconds = seconds(time.Since(at))
	}
	return d
}
