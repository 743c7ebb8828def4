package queuehttp

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	knownTimeout = 2 * time.Second
	knownRetry   = 5 * time.Second // after a failure, while the last answer counts
	maxKnown     = 10_000
)

// catalog remembers which events are real, so that polls cost no look-up. It keeps
// real events only, so that other ids cannot fill it.
type catalog struct {
	ask   func(ctx context.Context, event string) error
	every time.Duration
	facts sync.Map // of *fact, by event
	count atomic.Int64
	first singleflight.Group
}

// fact is the last answer for an event: nil, ErrEnded or ErrSoldOut.
type fact struct {
	err    error
	until  time.Time
	asking atomic.Bool
}

func (c *catalog) check(ctx context.Context, event string) error {
	if c.ask == nil {
		return nil
	}
	v, ok := c.facts.Load(event)
	if !ok {
		_, err, _ := c.first.Do(event, func() (any, error) { return nil, c.learn(ctx, event, nil) })
		return err
	}
	known := v.(*fact)
	if time.Now().Before(known.until) || !known.asking.CompareAndSwap(false, true) {
		return known.err
	}
	defer known.asking.Store(false)
	return c.learn(ctx, event, known)
}

// learn asks, and keeps the answer. When there is none, the last answer stays
// valid.
func (c *catalog) learn(ctx context.Context, event string, known *fact) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), knownTimeout)
	defer cancel()
	err := c.ask(ctx, event)
	switch {
	case err == nil, errors.Is(err, ErrEnded), errors.Is(err, ErrSoldOut):
		c.keep(event, &fact{err: err, until: time.Now().Add(c.every)})
	case errors.Is(err, ErrUnknownEvent):
		if _, was := c.facts.LoadAndDelete(event); was {
			c.count.Add(-1)
		}
	case known != nil:
		c.keep(event, &fact{err: known.err, until: time.Now().Add(min(knownRetry, c.every))})
		return known.err
	}
	return err
}

func (c *catalog) keep(event string, f *fact) {
	if _, was := c.facts.Swap(strings.Clone(event), f); was { // a substring would keep its request
		return
	}
	if c.count.Add(1) > maxKnown {
		c.facts.Clear()
		c.count.Store(0)
	}
}
