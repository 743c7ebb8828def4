package redrive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
)

// reader receives the letters that the group has not settled, in order within a
// partition, and gives back what was not acknowledged.
type reader struct {
	sub     message.Subscriber
	ch      <-chan *message.Message
	pending int  // how many there were at the start
	known   bool // whether the transport could tell
	seen    int  // of those, as far as anybody can know
	wait    time.Duration
}

// linger is how long a reader that has seen everything waits for more: a
// transport may have counted too few.
const linger = 250 * time.Millisecond

// open subscribes. The transport's own subscriber does without a dispatcher,
// which would hold back a key behind its first letter.
func (l *Letters) open(ctx context.Context, window int) (*reader, error) {
	sub, err := l.bus.Driver().Subscriber(l.cfg.Group, window)
	if err != nil {
		return nil, fmt.Errorf("redrive: read %s: %w", l.topic, err)
	}
	r := &reader{sub: sub, wait: l.cfg.Wait}
	// What is unacknowledged must not be given back before the pass ends.
	if r.ch, err = sub.Subscribe(context.WithoutCancel(ctx), l.topic); err != nil {
		return nil, errors.Join(fmt.Errorf("redrive: read %s: %w", l.topic, err), sub.Close())
	}
	// Asked now: subscribing has made the group where it did not exist.
	if r.pending, r.known, err = l.pending(ctx); err != nil {
		return nil, errors.Join(err, sub.Close())
	}
	return r, nil
}

// pending says how many letters are still to be looked at, if anybody can.
func (l *Letters) pending(ctx context.Context) (n int, known bool, err error) {
	lags, err := l.bus.Lag(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("redrive: count the dead letters of %s: %w", l.topic, err)
	}
	for _, lag := range lags {
		if lag.Topic == l.topic && lag.Group == l.cfg.Group {
			return lag.Messages, true, nil
		}
	}
	return 0, false, nil
}

// complete reports whether everything that was there at the start was seen.
func (r *reader) complete() bool { return r.known && r.seen >= r.pending }

// patience is how long it is worth waiting for another letter.
func (r *reader) patience() time.Duration {
	switch {
	case r.known && r.pending == 0:
		return 0
	case r.complete():
		return linger
	default:
		return r.wait
	}
}

// next returns the next letter, or nil when none came within the time.
func (r *reader) next(ctx context.Context, within time.Duration) (*message.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case m, ok := <-r.ch:
		if !ok {
			return nil, fmt.Errorf("redrive: %w", bus.ErrSubscriptionLost)
		}
		return m, nil
	case <-timer.C:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close commits what was acknowledged and gives the rest back.
func (r *reader) close(err *error) {
	if cerr := r.sub.Close(); cerr != nil {
		*err = errors.Join(*err, fmt.Errorf("redrive: close: %w", cerr))
	}
}
