package coalesce

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// sharing lets callers of one process with the same question share a call of the store. Callers
// that arrive during a call wait; when the call has returned, one of them makes the next call
// for all of them.
//
// So a caller is only answered by a call that began after its question, and the atomic step in
// the store is within the time of each caller that it answers. The other callers are answered
// as if they had asked right after the one that called: AlreadyProcessing. No caller is
// answered by the call that was in flight when it arrived, whose step may have been earlier and
// may be out of date.
type sharing struct {
	mu    sync.Mutex
	lines map[question]*line
}

// question is the common part of shared calls. A request for one more run is not shared,
// because it leaves a mark.
type question struct {
	key      string
	priority Priority
}

// line holds the callers with one question while a call is in flight.
type line struct {
	served  []*waiter // waiters that the call in flight answers, besides its caller
	waiting []*waiter // waiters that arrived after it began
}

type waiter struct{ turn chan turn } // with room for one

// turn is an answer for a waiter, or the request to make the next call.
type turn struct {
	call     bool
	decision Decision
	err      error
}

var errPanicked = errors.New("the store panicked")

// request answers a question, by a call of its own or one that it shares.
func (s *sharing) request(ctx context.Context, q question, call func() (Decision, error)) (d Decision, err error) {
	if w := s.join(q); w != nil {
		select {
		case t := <-w.turn:
			if !t.call {
				return t.decision, t.err
			}
		case <-ctx.Done():
			if s.leave(q, w) {
				return Decision{}, ctx.Err()
			}
			t := <-w.turn
			if !t.call {
				return t.decision, t.err
			}
			s.returned(q, turn{}, true) // another waiter makes the call
			return Decision{}, ctx.Err()
		}
	}
	t := turn{err: errPanicked}
	// The error of this caller's ended context is not an answer for the others.
	defer func() { s.returned(q, t, t.err != nil && ctx.Err() != nil) }()
	t.decision, t.err = call()
	return t.decision, t.err
}

// join returns nil if no call is in flight: the caller has to make it.
func (s *sharing) join(q question) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[q]
	if l == nil {
		if s.lines == nil {
			s.lines = map[question]*line{}
		}
		s.lines[q] = &line{}
		return nil
	}
	w := &waiter{turn: make(chan turn, 1)}
	l.waiting = append(l.waiting, w)
	return w
}

// leave removes a waiter, and returns false if it already has its turn.
func (s *sharing) leave(q question, w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[q]
	if l == nil {
		return false
	}
	for _, side := range []*[]*waiter{&l.served, &l.waiting} {
		if i := slices.Index(*side, w); i >= 0 {
			*side = slices.Delete(*side, i, i+1)
			return true
		}
	}
	return false
}

// returned sends the outcome of a call to its waiters, unless it is moot, and lets the first
// later waiter make the next call.
func (s *sharing) returned(q question, t turn, moot bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[q]
	if moot {
		l.waiting = append(l.served, l.waiting...)
	} else {
		if t.decision.Mine() {
			t.decision.Outcome = AlreadyProcessing
		}
		for _, w := range l.served {
			w.turn <- t
		}
	}
	if l.served = nil; len(l.waiting) == 0 {
		delete(s.lines, q)
		return
	}
	next := l.waiting[0]
	l.served, l.waiting = l.waiting[1:], nil
	next.turn <- turn{call: true}
}
