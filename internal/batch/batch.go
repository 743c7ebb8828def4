// Package batch combines concurrent requests into shared calls (group commit).
//
//	c := batch.New(100, 5*time.Second, func(ctx context.Context, rows []Row) ([]error, error) {
//		return nil, insert(ctx, rows)
//	})
//	_, err := c.Do(ctx, row)
//
// A request that arrives alone is sent at once. Requests that arrive while a call is under way
// are queued and share the next call, in their order. No request waits for others. Calls run one
// after another, or a few at a time; see [Combiner.Overlap].
//
// The contexts of the callers are independent. If a caller's context ends, only its request is
// dropped from the queue, and the call fails with [ErrNotSent] and the context's error. If the
// request is already part of a call, the error is [ErrUnknown] instead, because the call goes on
// for the others. A call that panics fails its own requests, and no others.
//
// A caller whose context cannot end makes its call itself; for other callers, a goroutine does.
// The handover of a request takes some 40 µs (BenchmarkPublish of redisbus, by one caller).
package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// ErrNotSent is the error of a caller that left before its request was part of a call.
var ErrNotSent = errors.New("nothing was sent")

// ErrUnknown is the error of a caller that left while its request was part of a call:
// the request may or may not be carried out.
var ErrUnknown = errors.New("the outcome is unknown: the request was already sent")

// Call answers requests in their order: one answer each, or an error for all.
// Its context has the values of the first request's context, but not its end.
type Call[Q, A any] func(ctx context.Context, requests []Q) ([]A, error)

// Combiner combines requests. Use [New] to make one.
type Combiner[Q, A any] struct {
	call    Call[Q, A]
	most    int
	timeout time.Duration
	abreast int         // see Overlap
	enough  int         // see Overlap
	heavy   int         // see Limit
	weight  func(Q) int // see Limit

	mu     sync.Mutex
	flying int // calls under way
	queue  []*waiter[Q, A]
	calls  sync.WaitGroup
}

type waiter[Q, A any] struct {
	ctx     context.Context
	request Q
	done    chan struct{} // closed when answer and err are set
	answer  A
	err     error
}

// New makes a Combiner of at most most requests in a call. Each call is bounded by
// timeout; 0 is no bound.
func New[Q, A any](most int, timeout time.Duration, call Call[Q, A]) *Combiner[Q, A] {
	return &Combiner[Q, A]{call: call, most: most, timeout: timeout, abreast: 1}
}

// Overlap allows up to abreast calls at the same time. Each call beyond the first has
// at least enough requests. The requests of one call keep their order, but calls can
// overtake each other. Call Overlap before the first Do.
func (c *Combiner[Q, A]) Overlap(abreast, enough int) *Combiner[Q, A] {
	c.abreast, c.enough = abreast, enough
	return c
}

// Limit bounds the weight of a call: the sum of its requests' weights, unless the call
// has one request only. Call Limit before the first Do.
func (c *Combiner[Q, A]) Limit(most int, weight func(Q) int) *Combiner[Q, A] {
	c.heavy, c.weight = most, weight
	return c
}

// Do sends a request, alone or with others, and returns its answer. If ctx ends first,
// Do returns the cause of its end at once; see [ErrNotSent] and [ErrUnknown].
func (c *Combiner[Q, A]) Do(ctx context.Context, request Q) (A, error) {
	var none A
	if ctx.Err() != nil {
		return none, fmt.Errorf("%w: %w", ErrNotSent, context.Cause(ctx))
	}
	w := &waiter[Q, A]{ctx: ctx, request: request, done: make(chan struct{})}
	stays := ctx.Done() == nil // a caller that cannot leave makes the call itself
	c.mu.Lock()
	c.queue = append(c.queue, w)
	due := c.due()
	switch {
	case due && stays:
		c.flying++
		c.calls.Add(1)
	case due:
		c.flying++
		c.calls.Go(c.work)
	}
	c.mu.Unlock()
	if due && stays {
		c.lead()
	}
	select {
	case <-w.done:
		return w.answer, w.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.queue, w); i >= 0 {
		c.queue = slices.Delete(c.queue, i, i+1)
		return none, fmt.Errorf("%w: %w", ErrNotSent, context.Cause(ctx))
	}
	select {
	case <-w.done:
		return w.answer, w.err
	default:
		return none, fmt.Errorf("%w: %w", ErrUnknown, context.Cause(ctx))
	}
}

// Wait waits for the calls under way. No Do may begin until Wait returns.
func (c *Combiner[Q, A]) Wait() { c.calls.Wait() }

// Load returns how many calls are under way, and how many requests wait for one.
func (c *Combiner[Q, A]) Load() (calls, queued int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flying, len(c.queue)
}

// due reports whether one more call is to be made. The caller holds mu.
func (c *Combiner[Q, A]) due() bool {
	n := len(c.queue)
	return n > 0 && (c.flying == 0 || c.flying < c.abreast && n >= c.enough)
}

// work makes calls until none is due.
func (c *Combiner[Q, A]) work() {
	ended := false
	defer func() {
		if !ended { // the call has ended its goroutine
			c.calls.Go(c.work)
		}
	}()
	for batch := c.take(); batch != nil; batch = c.take() {
		c.serve(batch)
		if len(batch) > 1 {
			runtime.Gosched() // the next requests of the callers just answered share the next call
		}
	}
	ended = true
}

// lead makes one call, and then leaves due calls to work.
func (c *Combiner[Q, A]) lead() {
	defer c.calls.Done()
	batch := c.take()
	if batch == nil {
		return
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.flying--; c.due() {
			c.flying++
			c.calls.Go(c.work)
		}
	}()
	c.serve(batch)
}

// take takes the requests of the next call from the queue, and returns nil when the worker has
// to end.
func (c *Combiner[Q, A]) take() []*waiter[Q, A] {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flying--
	if !c.due() {
		return nil
	}
	c.flying++
	n, weight := 0, 0
	for ; n < min(len(c.queue), c.most); n++ {
		if c.weight != nil {
			if weight += c.weight(c.queue[n].request); n > 0 && weight > c.heavy {
				break
			}
		}
	}
	batch := c.queue[:n:n]
	if c.queue = c.queue[n:]; len(c.queue) == 0 {
		c.queue = nil // the array goes with the batch
	}
	return batch
}

// serve makes a call and hands out its answers.
func (c *Combiner[Q, A]) serve(batch []*waiter[Q, A]) {
	requests := make([]Q, len(batch))
	for i, w := range batch {
		requests[i] = w.request
	}
	var answers []A
	err := errors.New("batch: the call did not return")
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("batch: the call panicked: %v", p)
		}
		for i, w := range batch {
			if w.err = err; err == nil {
				w.answer = answers[i]
			}
			close(w.done)
		}
	}()
	ctx := context.WithoutCancel(batch[0].ctx)
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	answers, err = c.call(ctx, requests)
	if err == nil && len(answers) != len(requests) {
		err = fmt.Errorf("batch: %d answers to %d requests", len(answers), len(requests))
	}
}
