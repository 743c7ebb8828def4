package ratelimit

import "time"

// caller is a caller that asked for n calls and has no answer yet. It is in one list at a time,
// and removes itself when it leaves. All fields are guarded by Limiter.mu; the fields of the
// answer are not written after the caller was woken for it.
type caller struct {
	prev, next *caller
	in         *callers
	p          Priority
	n          int
	lead       bool // it makes the next call of the store
	answered   bool
	granted    bool
	answer     *answer
	wake       chan struct{} // of capacity 1
}

// answer is the outcome of one run, shared by its callers.
type answer struct {
	err       error
	at        int64
	useBy     time.Duration
	reason    Reason
	until     time.Duration // when to ask again
	remaining int
}

// signal wakes the caller, which may not be asleep yet.
func (c *caller) signal() {
	select {
	case c.wake <- struct{}{}:
	default: // a signal is pending, and the caller reads its state after it
	}
}

// callers is a list in order of arrival.
type callers struct {
	first, last *caller
	len         int
}

func (l *callers) push(c *caller) {
	c.in, c.prev, c.next = l, l.last, nil
	if l.last == nil {
		l.first = c
	} else {
		l.last.next = c
	}
	l.last = c
	l.len++
}

func (l *callers) remove(c *caller) {
	if c.prev == nil {
		l.first = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		l.last = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.in, c.prev, c.next = nil, nil, nil
	l.len--
}

// queue holds the callers of one priority for the next call, by size: each list
// becomes a run.
type queue []*sized

type sized struct {
	callers
	size int
}

func (q *queue) push(c *caller) {
	for _, s := range *q {
		if s.size == c.n {
			s.push(c)
			return
		}
	}
	s := &sized{size: c.n}
	s.push(c)
	*q = append(*q, s)
}

// first returns the caller that makes the next call, or nil.
func (q queue) first() *caller {
	for _, s := range q {
		if s.callers.first != nil {
			return s.callers.first
		}
	}
	return nil
}

// of returns the callers of one size, or nil.
func (q queue) of(size int) *callers {
	for _, s := range q {
		if s.size == size {
			return &s.callers
		}
	}
	return nil
}
