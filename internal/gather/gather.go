// Package gather lets callers share calls: who comes alone makes a call at once,
// in its own goroutine; who comes while it is under way waits and shares the
// next one. Nothing is delayed for the sake of company, and a crowd costs as many
// calls as fit one after another, or a few abreast; see [Calls.Overlap].
package gather

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Call answers requests in their order: one answer each, or an error for all.
type Call[Q, A any] func(ctx context.Context, requests []Q) ([]A, error)

// Calls shares a Call. Make one with [New].
type Calls[Q, A any] struct {
	call    Call[Q, A]
	most    int
	timeout time.Duration
	abreast int // see Overlap
	enough  int // see Overlap

	mu     sync.Mutex
	flying int // calls under way, or about to be made
	queue  []*waiter[Q, A]
}

type waiter[Q, A any] struct {
	request Q
	done    chan struct{}   // closed when answer and err are set
	lead    chan struct{}   // closed when the waiter is to make the next call
	batch   []*waiter[Q, A] // those it is to make it for, itself first; guarded by mu
	gone    bool            // it waits no more; guarded by mu
	answer  A
	err     error
}

// New makes a Calls of at most most requests in a call, each bounded by timeout:
// a caller's own context ends its waiting, and never a call that others share.
func New[Q, A any](most int, timeout time.Duration, call Call[Q, A]) *Calls[Q, A] {
	return &Calls[Q, A]{call: call, most: most, timeout: timeout, abreast: 1}
}

// Overlap lets so many calls be under way abreast, each beyond the first for at
// least enough callers, so that one travels while another is answered. Requests of
// a call stay in their order, but those of callers who wait at the same time may be
// carried out by calls that overtake each other. It is to be called before the
// first Do.
func (c *Calls[Q, A]) Overlap(abreast, enough int) *Calls[Q, A] {
	c.abreast, c.enough = abreast, enough
	return c
}

// Do makes a call, or shares one. When ctx ends first the request may still be
// carried out, unless no call has taken it yet.
func (c *Calls[Q, A]) Do(ctx context.Context, request Q) (A, error) {
	var none A
	if err := ctx.Err(); err != nil {
		return none, err
	}
	w := &waiter[Q, A]{request: request, done: make(chan struct{}), lead: make(chan struct{})}
	c.mu.Lock()
	c.queue = append(c.queue, w)
	c.launch()
	c.mu.Unlock()
	select {
	case <-w.done:
		return w.answer, w.err
	case <-w.lead:
		return c.make(ctx, w)
	case <-ctx.Done():
		c.leave(w)
		return none, context.Cause(ctx)
	}
}

// launch has the first in the queue make a call, if there is to be one more.
func (c *Calls[Q, A]) launch() {
	if n := len(c.queue); n > 0 && (c.flying == 0 || c.flying < c.abreast && n >= c.enough) {
		c.flying++
		c.hand(c.take(c.most))
	}
}

// take takes up to n from the queue.
func (c *Calls[Q, A]) take(n int) []*waiter[Q, A] {
	n = min(n, len(c.queue))
	taken := c.queue[:n:n]
	if c.queue = c.queue[n:]; len(c.queue) == 0 {
		c.queue = nil // the array goes with those who were taken
	}
	return taken
}

// hand gives a call to the first of those it is for who are still there.
func (c *Calls[Q, A]) hand(batch []*waiter[Q, A]) {
	batch = slices.DeleteFunc(batch, func(w *waiter[Q, A]) bool { return w.gone })
	if len(batch) == 0 {
		c.flying--
		c.launch()
		return
	}
	batch[0].batch = batch
	close(batch[0].lead)
}

// make makes the call that w is to make, also for those who came since.
func (c *Calls[Q, A]) make(ctx context.Context, w *waiter[Q, A]) (A, error) {
	c.mu.Lock()
	batch := w.batch
	if more := c.take(c.most - len(batch)); len(more) > 0 {
		batch = append(batch, more...)
	}
	c.mu.Unlock()

	requests := make([]Q, len(batch))
	for i, one := range batch {
		requests[i] = one.request
	}
	answers, err := c.run(ctx, requests)
	c.mu.Lock()
	c.flying--
	c.launch()
	c.mu.Unlock()
	for i, one := range batch {
		if one.err = err; err == nil {
			one.answer = answers[i]
		}
		if one != w {
			close(one.done)
		}
	}
	return w.answer, w.err
}

// leave takes w out of the queue when no call has taken it, and hands on a call
// that it was to make.
func (c *Calls[Q, A]) leave(w *waiter[Q, A]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.gone = true
	if i := slices.Index(c.queue, w); i >= 0 {
		// Those who were taken share the array, so it is not shifted in place.
		c.queue = slices.Concat(c.queue[:i], c.queue[i+1:])
	}
	if w.batch != nil {
		c.hand(w.batch)
	}
}

func (c *Calls[Q, A]) run(ctx context.Context, requests []Q) (answers []A, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout)
	defer cancel()
	finished := false
	defer func() {
		// A call that panics must not leave the others waiting for ever.
		if !finished {
			err = fmt.Errorf("gather: the call panicked: %v", recover())
		}
	}()
	answers, err = c.call(ctx, requests)
	finished = true
	if err == nil && len(answers) != len(requests) {
		err = fmt.Errorf("gather: %d answers to %d requests", len(answers), len(requests))
	}
	return answers, err
}
