// Package gather lets callers share calls: who comes alone makes a call at once,
// in its own goroutine; who comes while it is under way waits and shares the
// next one. Nothing is delayed for the sake of company, and a crowd costs as many
// calls as fit one after another.
package gather

import (
	"context"
	"fmt"
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

	mu    sync.Mutex
	busy  bool // a call is under way, or its leader is about to make it
	queue []*waiter[Q, A]
}

type waiter[Q, A any] struct {
	request Q
	done    chan struct{} // closed when answer and err are set
	lead    chan struct{} // closed when the waiter is to make the next call
	answer  A
	err     error
}

// New makes a Calls of at most most requests in a call, each bounded by timeout:
// a caller's own context ends its waiting, and never a call that others share.
func New[Q, A any](most int, timeout time.Duration, call Call[Q, A]) *Calls[Q, A] {
	return &Calls[Q, A]{call: call, most: most, timeout: timeout}
}

// Do makes a call, or shares one. When ctx ends first the request may still be
// carried out, unless no call has taken it yet.
func (c *Calls[Q, A]) Do(ctx context.Context, request Q) (A, error) {
	var none A
	if err := ctx.Err(); err != nil {
		return none, err
	}
	w := &waiter[Q, A]{request: request}
	c.mu.Lock()
	c.queue = append(c.queue, w)
	if c.busy {
		w.done, w.lead = make(chan struct{}), make(chan struct{})
		c.mu.Unlock()
		select {
		case <-w.done:
			return w.answer, w.err
		case <-w.lead:
			return c.make(ctx, w)
		case <-ctx.Done():
			return c.leave(ctx, w)
		}
	}
	c.busy = true
	c.mu.Unlock()
	return c.make(ctx, w)
}

// make makes one call for the first in the queue, of whom the leader w is one,
// and hands the lead on.
func (c *Calls[Q, A]) make(ctx context.Context, w *waiter[Q, A]) (A, error) {
	c.mu.Lock()
	batch := c.queue[:min(len(c.queue), c.most)]
	c.queue = c.queue[len(batch):]
	if len(c.queue) == 0 {
		c.queue = nil // the array goes with the batch
	}
	c.mu.Unlock()

	requests := make([]Q, len(batch))
	for i, one := range batch {
		requests[i] = one.request
	}
	answers, err := c.run(ctx, requests)
	for i, one := range batch {
		if one.err = err; err == nil {
			one.answer = answers[i]
		}
		if one != w {
			close(one.done)
		}
	}
	c.handOn()
	return w.answer, w.err
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

// handOn makes the first who waits the leader.
func (c *Calls[Q, A]) handOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		c.busy = false
		return
	}
	close(c.queue[0].lead)
}

// leave takes w out of the queue when no call has taken it, and hands on a lead
// it was given meanwhile.
func (c *Calls[Q, A]) leave(ctx context.Context, w *waiter[Q, A]) (A, error) {
	var none A
	c.mu.Lock()
	for i, one := range c.queue {
		if one != w {
			continue
		}
		// Others read the array outside the lock, so it is not shifted in place.
		c.queue = append(append([]*waiter[Q, A](nil), c.queue[:i]...), c.queue[i+1:]...)
		break
	}
	c.mu.Unlock()
	select {
	case <-w.lead:
		c.handOn()
	default:
	}
	return none, context.Cause(ctx)
}
