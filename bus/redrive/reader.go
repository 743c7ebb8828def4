package redrive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
)

// reader receives the letters that the group has not settled, in order within a partition, and
// returns those that are not acknowledged.
type reader struct {
	source  driver.Source
	window  int
	fetched []driver.Delivery // and not yet read
	out     map[*message.Message]driver.Delivery
	pending int  // how many there were at the start
	known   bool // whether the transport could tell
	seen    int  // of those, at least as far as known
	wait    time.Duration
}

// linger is how long a reader that has seen every letter waits for more: a transport may have
// counted too few.
const linger = 250 * time.Millisecond

// open joins the group. It uses the transport's own source, because the engine would hold back
// the letters of a key behind the first. The end of ctx ends the wait for an absent server; an
// opened source ignores it.
func (l *Letters) open(ctx context.Context, window int) (*reader, error) {
	source, err := l.bus.Driver().Source(ctx, l.topic, l.cfg.Group, window)
	if err != nil {
		return nil, fmt.Errorf("redrive: read %s: %w", l.topic, err)
	}
	r := &reader{source: source, window: window, out: map[*message.Message]driver.Delivery{}, wait: l.cfg.Wait}
	// Only now, because joining creates the group if it did not exist.
	if r.pending, r.known, err = l.pending(ctx); err != nil {
		return nil, errors.Join(err, source.Close())
	}
	return r, nil
}

// pending returns the number of pending letters, if the transport can tell.
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

// complete reports whether every letter that was there at the start was seen.
func (r *reader) complete() bool { return r.known && r.seen >= r.pending }

// patience is how long to wait for another letter.
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

// next returns the next letter, or nil when none arrives in time.
func (r *reader) next(ctx context.Context, within time.Duration) (*message.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(r.fetched) == 0 {
		limited, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		fetched, err := r.source.Fetch(limited, r.window)
		switch {
		case err == nil:
			r.fetched = fetched
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case limited.Err() != nil:
			return nil, nil
		default:
			return nil, fmt.Errorf("redrive: the transport ended the subscription: %w", err)
		}
	}
	d := r.fetched[0]
	r.fetched = r.fetched[1:]
	m := d.Message()
	msg := message.NewMessage(m.ID, m.Payload)
	maps.Copy(msg.Metadata, m.Metadata)
	msg.SetContext(d.Context())
	r.out[msg] = d
	return msg, nil
}

// done acknowledges a letter.
func (r *reader) done(letter *message.Message) {
	r.out[letter].Done()
	delete(r.out, letter)
}

// close commits the acknowledgements and returns the other letters.
func (r *reader) close(err *error) {
	if cerr := r.source.Close(); cerr != nil {
		*err = errors.Join(*err, fmt.Errorf("redrive: close: %w", cerr))
	}
}
