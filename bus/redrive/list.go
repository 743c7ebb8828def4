package redrive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// List returns the Letters selected by the filter, at most limit of them, or all when limit is
// 0. It settles nothing. On a transport with driver.Pender it does not disturb other readers; on
// another transport it reads as the group and hands the letters back, so that a concurrent pass
// sees only a part.
func (l *Letters) List(ctx context.Context, f Filter, limit int) (Result, error) {
	var out Result
	found := map[string]int{} // index in out.Letters
	add := func(m *message.Message) (more bool) {
		out.Seen++
		letter := read(m)
		if !f.matches(letter) {
			return true
		}
		key := letter.own()
		if i, twice := found[key]; twice {
			if have := out.Letters[i]; newer(version{have.Redrives, have.Edits}, letter) {
				out.Letters[i] = letter
			}
			return true
		}
		if limit > 0 && len(out.Letters) == limit {
			return false
		}
		found[key] = len(out.Letters)
		out.Letters = append(out.Letters, letter)
		return true
	}
	err := l.look(ctx, &out, add)
	return out, err
}

// Show returns the letter with the id; if several groups have one, the first.
func (l *Letters) Show(ctx context.Context, id string) (Letter, error) {
	// Not with a limit of one: an edited copy is behind the original.
	found, err := l.List(ctx, Filter{IDs: []string{id}}, 0)
	switch {
	case err != nil:
		return Letter{}, err
	case len(found.Letters) > 0:
		return found.Letters[0], nil
	default:
		return Letter{}, l.notFound(id, found.Complete)
	}
}

// look calls add with every pending letter until add returns false.
func (l *Letters) look(ctx context.Context, out *Result, add func(*message.Message) bool) error {
	messages, err := l.bus.Pending(ctx, l.topic, l.cfg.Group, l.cfg.Window)
	if errors.Is(err, errors.ErrUnsupported) {
		return l.lookByReading(ctx, out, add)
	}
	if err != nil {
		return fmt.Errorf("redrive: list %s: %w", l.topic, err)
	}
	out.Pending, out.Complete = len(messages), len(messages) < l.cfg.Window
	if n, known, err := l.pending(ctx); err == nil && known {
		out.Pending = n
	}
	for _, m := range messages {
		if !add(m) {
			out.Complete = false
			break
		}
	}
	return nil
}

func (l *Letters) lookByReading(ctx context.Context, out *Result, add func(*message.Message) bool) (err error) {
	r, err := l.open(ctx, l.cfg.Window)
	if err != nil {
		return err
	}
	defer r.close(&err)
	if c := l.bus.Capabilities(); c.LocksKeys || c.SerialGroups || c.OneAtATime {
		r.wait = min(r.wait, time.Second) // no more than a few can be received
	}
	defer func() { out.Pending = max(r.pending, r.seen) }()
	for r.seen < l.cfg.Window {
		m, err := r.next(ctx, r.patience())
		if err != nil {
			return err
		}
		if m == nil {
			out.Complete = r.complete() || !r.known
			return nil
		}
		r.seen++
		if !add(m) {
			return nil
		}
	}
	return nil
}
