package redisqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/queue"
)

// Bounds of one script, so that it takes less than a millisecond in a line of a
// million.
const (
	visitMost   = 200
	admitMost   = 125
	sweepMost   = 250
	sweepBlocks = 32
)

// Admit admits the first of the line; see [queue.Store]. A chunk takes several
// scripts, each of which admits all of its own or none.
func (s *Store) Admit(ctx context.Context, event string, r queue.Rules) (queue.Admission, error) {
	if err := checkRules(event, r); err != nil {
		return queue.Admission{}, wrap("admit to", event, err)
	}
	admission, err := s.admit(ctx, event, r, admitMost)
	for err == nil && admission.More && len(admission.Admitted) < queue.MaxChunk {
		next, failed := s.admit(ctx, event, r, min(admitMost, queue.MaxChunk-len(admission.Admitted)))
		if failed != nil {
			// The earlier chunks are in. The next call gets the error.
			break
		}
		if len(next.Admitted) == 0 {
			// Other callers were faster, or the room was closed since the last call.
			admission.More = false
			break
		}
		next.Admitted = append(admission.Admitted, next.Admitted...)
		admission = next
	}
	if err != nil {
		return queue.Admission{}, s.failed("admit to", event, err)
	}
	return admission, nil
}

func (s *Store) admit(ctx context.Context, event string, r queue.Rules, most int) (queue.Admission, error) {
	a, state, _, err := s.run(ctx, s.scripts.admit, r, s.keysOf(event, r), rulesArgs(r, 1).doubles(float64(most)))
	if err != nil {
		return queue.Admission{}, err
	}
	admission := queue.Admission{State: state, More: a.flag(), Next: a.times(time.Microsecond)}
	for len(a.rest) > 0 && !a.short {
		one := a.admitted()
		if one.Order < 0 { // of a lane
			one.Order, one.Laned = -one.Order, true
		}
		admission.Admitted = append(admission.Admitted, one)
	}
	if a.short {
		return queue.Admission{}, errShort
	}
	return admission, nil
}

// Sweep removes users without signs of life; see [queue.Store].
func (s *Store) Sweep(ctx context.Context, event string, r queue.Rules, from int64) (queue.Swept, error) {
	err := checkRules(event, r)
	if err == nil && from < 0 {
		err = bad("the sweep is to go on at %d; blocks are numbered from 0", from)
	}
	if err != nil {
		return queue.Swept{}, wrap("sweep", event, err)
	}
	swept, forget, err := s.sweep(ctx, event, r, from)
	if err == nil && forget {
		err = s.forget(ctx, event, r)
	}
	if err != nil {
		return queue.Swept{}, s.failed("sweep", event, err)
	}
	return swept, nil
}

func (s *Store) sweep(ctx context.Context, event string, r queue.Rules, from int64) (swept queue.Swept, forget bool, err error) {
	for range tries {
		now := s.clock.now()
		oldest := (now - r.Seen.Microseconds()) / spanOf(r)
		periods := int(now/spanOf(r)-oldest) + 2
		args := rulesArgs(r, 4).doubles(float64(oldest), float64(from), sweepMost, sweepBlocks)
		var a *answer
		a, swept.State, _, err = s.run(ctx, s.scripts.sweep, r, s.keysSeen(event, r, oldest, periods), args)
		if errors.Is(err, errMinute) {
			continue
		}
		if err != nil {
			return queue.Swept{}, false, err
		}
		swept.Removed, swept.Next, swept.Done = a.int(), a.number(), a.flag()
		forget = a.flag()
		if a.short || a.rest != "" {
			return queue.Swept{}, false, errShort
		}
		return swept, forget, nil
	}
	return queue.Swept{}, false, err
}

// forget takes an event out of the registry, and puts it back when a user came
// before that. A later visit finds the event unused, and puts it back itself.
func (s *Store) forget(ctx context.Context, event string, r queue.Rules) error {
	if err := s.client.SRem(ctx, s.registry, event).Err(); err != nil {
		return fmt.Errorf("take out of the registry: %w", err)
	}
	s.added.forget(event)
	v, err := s.Look(ctx, event, r, 0, 0)
	if err == nil && v.Waiting+v.Active > 0 {
		err = s.register(ctx, event)
	}
	return err
}

func sortBlocks(blocks []queue.Block) {
	slices.SortFunc(blocks, func(a, b queue.Block) int { return cmp.Compare(a.Number, b.Number) })
}
