package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/fault"
)

// ErrHandlerTimeout is the cause of a handler's cancelled context when it took longer
// than the Timeout of its consumer.
var ErrHandlerTimeout = errors.New("bus: the handler took too long")

const (
	// A handler that runs on for overdueGrace after its context has ended is overdue. It is
	// logged then, and again every overdueLog.
	overdueGrace = 5 * time.Second
	overdueLog   = time.Minute
)

// overdue is a handler at work. The consumer's mu guards its fields, except what and began.
type overdue struct {
	what     func() []any // for the log
	began    time.Time
	timer    *time.Timer
	reported bool
	returned bool
}

// bounded runs a handler with a context that ends after the consumer's Timeout. A failure after
// the timeout is transient, regardless of the handler's error, unless it names messages.
func (c *consumer) bounded(ctx context.Context, run func(ctx context.Context) error, what func() []any) error {
	if c.Timeout <= 0 {
		return run(ctx)
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.Timeout, ErrHandlerTimeout)
	defer cancel()
	defer c.watch(ctx, &overdue{what: what, began: time.Now()})()
	err := run(limited)
	if err == nil || !errors.Is(context.Cause(limited), ErrHandlerTimeout) {
		return err
	}
	late := func(err error) error {
		return fault.MarkTransient(fmt.Errorf("%w (%s): %w", ErrHandlerTimeout, c.Timeout, err))
	}
	some := partial(err)
	if some == nil {
		return late(err)
	}
	for i, one := range some {
		if whole, ok := one.(wholeError); ok { //nolint:errorlint // as made by translated
			some[i] = wholeError{late(whole.error), whole.of}
		}
	}
	return err
}

// watch reports a handler that ignores the end of its context, until the returned function is
// called.
func (c *consumer) watch(ctx context.Context, o *overdue) (returned func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.timer = time.AfterFunc(c.Timeout+overdueGrace, func() {
		c.mu.Lock()
		if o.returned {
			c.mu.Unlock()
			return
		}
		o.reported = true
		c.overdue[o] = struct{}{}
		o.timer.Reset(overdueLog)
		c.mu.Unlock()
		c.log.WarnContext(ctx, "a handler ignores the end of its context",
			append([]any{"timeout", c.Timeout, "age", time.Since(o.began).Round(time.Second)}, o.what()...)...)
	})
	return func() {
		c.mu.Lock()
		o.returned = true
		o.timer.Stop()
		delete(c.overdue, o)
		c.mu.Unlock()
		if o.reported {
			c.log.InfoContext(ctx, "a handler that had ignored the end of its context returned",
				append([]any{"age", time.Since(o.began).Round(time.Second)}, o.what()...)...)
		}
	}
}

// overdueNow returns the number of overdue handlers, and the age of the oldest. The caller holds
// mu.
func (c *consumer) overdueNow() (n int, oldest time.Duration) {
	for o := range c.overdue {
		oldest = max(oldest, time.Since(o.began))
	}
	return len(c.overdue), oldest
}
