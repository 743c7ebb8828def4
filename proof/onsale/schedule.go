package onsale

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// schedule makes people act when they are due: a few workers act for hundreds of
// thousands of people, which wait most of the time.
type schedule struct {
	start time.Time
	mu    sync.Mutex
	due   steps[deed]
	late  time.Duration // the longest wait of a person for a worker
}

// deed is due at a time since the start.
type deed struct {
	at     time.Duration
	person int32
}

func (d deed) due() time.Duration { return d.at }

// steps is a heap, the earliest first.
type steps[S interface{ due() time.Duration }] []S

func (s steps[S]) Len() int           { return len(s) }
func (s steps[S]) Less(i, j int) bool { return s[i].due() < s[j].due() }
func (s steps[S]) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *steps[S]) Push(x any)        { *s = append(*s, x.(S)) }
func (s *steps[S]) Pop() any {
	last := len(*s) - 1
	step := (*s)[last]
	*s = (*s)[:last]
	return step
}

func (s *schedule) now() time.Duration { return time.Since(s.start) }

func (s *schedule) put(at time.Duration, person int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	heap.Push(&s.due, deed{at, person})
}

// take removes the first person due.
func (s *schedule) take() (deed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.due) == 0 || s.due[0].at > s.now() {
		return deed{}, false
	}
	return heap.Pop(&s.due).(deed), true
}

// lateness is the longest since it was last asked for.
func (s *schedule) lateness() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := s.late
	s.late = 0
	return late
}

// resolution is the interval at which it looks for due people.
const resolution = time.Millisecond

// run lets so many workers act until ctx ends, and waits for them. act returns the
// time when the person is due again, or a negative time for never.
func (s *schedule) run(ctx context.Context, workers int, act func(person int32) (again time.Duration)) {
	ready := make(chan deed)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for d := range ready {
				if late := s.now() - d.at; late > resolution {
					s.mu.Lock()
					s.late = max(s.late, late)
					s.mu.Unlock()
				}
				if again := act(d.person); again >= 0 {
					s.put(again, d.person)
				}
			}
		})
	}
	defer wg.Wait()
	defer close(ready)
	tick := time.NewTicker(resolution)
	defer tick.Stop()
	for {
		d, ok := s.take()
		if !ok {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			continue
		}
		select {
		case ready <- d:
		case <-ctx.Done():
			return
		}
	}
}
