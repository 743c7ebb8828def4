package redisqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/internal/roomcalls"
)

// Bounds of one script, so that it takes less than a millisecond in a line of a
// million.
const (
	visitMost   = 200
	admitMost   = 125
	sweepMost   = 250
	sweepBlocks = 32
)

// Admit admits the first of the line; see [driver.Store]. A chunk takes several
// scripts, each of which admits all of its own or none.
func (s *store) Admit(ctx context.Context, event string, r driver.Rules) (driver.Admission, error) {
	if err := checkRules(event, r); err != nil {
		return driver.Admission{}, wrap("admit to", event, err)
	}
	admission, err := s.admit(ctx, event, r, admitMost)
	for err == nil && admission.More && len(admission.Admitted) < driver.MaxChunk {
		next, failed := s.admit(ctx, event, r, min(admitMost, driver.MaxChunk-len(admission.Admitted)))
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
		return driver.Admission{}, s.failed("admit to", event, err)
	}
	return admission, nil
}

func (s *store) admit(ctx context.Context, event string, r driver.Rules, most int) (driver.Admission, error) {
	a, err := s.run(ctx, s.scripts.admit, r, s.keysOf(event, r), rulesArgs(r, 1).doubles(float64(most)))
	if err != nil {
		return driver.Admission{}, err
	}
	admission := driver.Admission{State: a.state, More: a.flag(), Next: a.times(time.Microsecond)}
	for len(a.rest) > 0 && !a.short {
		one := a.admitted()
		if one.Order < 0 { // of a lane
			one.Order, one.Laned = -one.Order, true
		}
		admission.Admitted = append(admission.Admitted, one)
	}
	if a.short {
		return driver.Admission{}, errShort
	}
	return admission, nil
}

// Sweep removes users without signs of life; see [driver.Store].
func (s *store) Sweep(ctx context.Context, event string, r driver.Rules, from int64) (driver.Swept, error) {
	err := checkRules(event, r)
	if err == nil && from < 0 {
		err = roomcalls.Bad("the sweep is to go on at %d; blocks are numbered from 0", from)
	}
	if err != nil {
		return driver.Swept{}, wrap("sweep", event, err)
	}
	swept, forget, err := s.sweep(ctx, event, r, from)
	if err == nil && forget {
		err = s.forget(ctx, event, r)
	}
	if err != nil {
		return driver.Swept{}, s.failed("sweep", event, err)
	}
	return swept, nil
}

func (s *store) sweep(ctx context.Context, event string, r driver.Rules, from int64) (swept driver.Swept, forget bool, err error) {
	a, err := s.runBy(ctx, s.scripts.sweep, r, func(now int64) ([]string, [][]byte) {
		oldest := (now - r.Seen.Microseconds()) / spanOf(r)
		periods := int(now/spanOf(r)-oldest) + 2
		args := rulesArgs(r, 4).doubles(float64(oldest), float64(from), sweepMost, sweepBlocks)
		return s.keysSeen(event, r, oldest, periods), [][]byte{args}
	})
	if err != nil {
		return driver.Swept{}, false, err
	}
	swept = driver.Swept{State: a.state, Removed: a.int(), Next: a.number(), Done: a.flag()}
	forget = a.flag()
	if a.short || a.rest != "" {
		return driver.Swept{}, false, errShort
	}
	return swept, forget, nil
}

// forget takes an event out of the registry, and puts it back when a user came
// before that. A later visit finds the event unused, and puts it back itself.
func (s *store) forget(ctx context.Context, event string, r driver.Rules) error {
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
