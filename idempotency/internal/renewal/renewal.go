// Package renewal keeps a lease alive while somebody works under it.
//
//	property                                                   proven by
//	the lease is extended each third of its time               TestExtends
//	one failed extension is tried again before the deadline    TestFailureIsTriedAgain
//	the work's context ends when the lease is lost, or at the
//	deadline when it could not be extended                     TestLost, TestDeadline
//	Stop waits for a running extension                         TestStopWaits
package renewal

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
)

// Keeper extends one lease until it is stopped.
type Keeper struct {
	cancel context.CancelCauseFunc
	stop   context.CancelFunc
	over   chan struct{}
	lost   atomic.Bool
}

// Start returns a context for the work and begins to extend the lease, which was
// asked for at the time began and lasts for ttl. The work's context ends with
// the cause lost when extend returns an error that is it, and when the lease
// could not be extended in time. Extensions go on when ctx ends, since the work
// may need a while to notice; call Stop in any case.
func Start(ctx context.Context, began time.Time, ttl time.Duration, lost error, extend func(context.Context) error) (context.Context, *Keeper) {
	work, cancel := context.WithCancelCause(ctx)
	until, stop := context.WithCancel(context.WithoutCancel(ctx))
	k := &Keeper{cancel: cancel, stop: stop, over: make(chan struct{})}
	go func() {
		defer close(k.over)
		k.keep(until, began, ttl, lost, extend)
	}()
	return work, k
}

// Stop ends the extensions, waits for a running one, and ends the context of
// the work.
func (k *Keeper) Stop() {
	k.stop()
	<-k.over
	k.cancel(context.Canceled)
}

// Lost reports whether the lease was lost.
func (k *Keeper) Lost() bool { return k.lost.Load() }

func (k *Keeper) keep(ctx context.Context, began time.Time, ttl time.Duration, lost error, extend func(context.Context) error) {
	deadline := began.Add(ttl)
	for pause := ttl / 3; ; {
		if backoff.Sleep(ctx, min(pause, time.Until(deadline))) != nil {
			return
		}
		asked := time.Now()
		if !asked.Before(deadline) {
			break
		}
		call, cancel := context.WithDeadline(ctx, deadline)
		err := extend(call)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			deadline, pause = asked.Add(ttl), ttl/3
			continue
		}
		if errors.Is(err, lost) {
			break
		}
		pause = ttl / 20
	}
	k.lost.Store(true)
	k.cancel(lost)
}
