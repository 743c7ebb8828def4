package memqueue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

var _ driver.Recorder = (*store)(nil)

// kept is how many minutes of figures an event has.
const kept = int64(driver.KeepFigures / time.Minute)

// Record keeps a sample of a minute; see [driver.Recorder].
func (s *store) Record(ctx context.Context, event string, sample driver.Sample) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memqueue: record: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	minutes := s.figures[event]
	if minutes == nil {
		for other := range s.figures { // made-up events leave nothing
			if s.forget(other); len(s.figures[other]) == 0 {
				delete(s.figures, other)
			}
		}
		minutes = map[int64]driver.Sample{}
		s.figures[strings.Clone(event)] = minutes
	}
	before := minutes[sample.Minute]
	sample.Laned += before.Laned
	waits := maps.Clone(before.Waits)
	if waits == nil {
		waits = make(map[int]int64, len(sample.Waits))
	}
	for bucket, n := range sample.Waits {
		waits[bucket] += n
	}
	sample.Waits = waits
	minutes[sample.Minute] = sample
	s.forget(event)
	return nil
}

// forget drops minutes that are too old.
func (s *store) forget(event string) {
	oldest := s.clock()/time.Minute.Microseconds() - kept
	maps.DeleteFunc(s.figures[event], func(minute int64, _ driver.Sample) bool { return minute <= oldest })
}

// Samples are the figures of an event; see [driver.Recorder].
func (s *store) Samples(ctx context.Context, event string) ([]driver.Sample, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memqueue: samples: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(event)
	samples := slices.Collect(maps.Values(s.figures[event]))
	slices.SortFunc(samples, func(a, b driver.Sample) int { return int(a.Minute - b.Minute) })
	return samples, nil
}
