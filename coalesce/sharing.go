package coalesce

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// sharing lets callers of one process who ask the same thing share a call of the
// store. While a call is under way those who come wait; when it has returned one
// of them makes the next call for all of them.
//
// So a caller is only ever answered by a call that began after it had asked, and
// the atomic step in the store lies within the time of each one it answers. The
// others are answered as if they had asked right behind the one that called:
// that somebody is at it. Nobody is answered by the call that was under way when
// it came, whose step may have been before and may be out of date.
type sharing struct {
	mu    sync.Mutex
	lines map[question]*line
}

// question is what callers have in common. A request for one more run is not
// shared: it leaves something behind.
type question struct {
	key      string
	priority Priority
}

// line is the callers behind one question, while a call is under way.
type line struct {
	served  []*waiter // whom the call under way answers, besides its caller
	waiting []*waiter // who came after it began
}

type waiter struct{ turn chan turn } // with room for one

// turn is what a waiter gets: an answer, or the turn to call.
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
			s.returned(q, turn{}, true) // it is another's turn
			return Decision{}, ctx.Err()
		}
	}
	t := turn{err: errPanicked}
	// What ended with this caller's context says nothing to the others.
	defer func() { s.returned(q, t, t.err != nil && ctx.Err() != nil) }()
	t.decision, t.err = call()
	return t.decision, t.err
}

// join returns nil when no call is under way and the caller is to make it.
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

// leave takes a waiter out, and reports false when it already has its turn.
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

// returned hands the outcome of a call to those it was made for, unless it is
// moot, and the next call to the first of those who wait.
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
