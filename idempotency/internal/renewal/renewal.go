// Package renewal keeps a lease alive while its holder works.
//
//	property                                                   proven by
//	the lease is extended while the work lasts                 TestExtends
//	the work's context ends when the lease is lost, or at the
//	deadline when it could not be extended                     TestLost, TestDeadline
//	Stop waits for a running extension                         TestStopWaits
package renewal

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/internal/lease"
)

// Keeper extends one lease until it is stopped.
type Keeper struct {
	cancel context.CancelCauseFunc
	stop   context.CancelFunc
	over   chan struct{}
	lost   atomic.Bool
}

// Start returns a context for the work and begins to extend the lease, which was requested at
// the time began and lasts for ttl. The work's context ends with the cause lost when extend
// returns lost, or when the lease could not be extended in time. Extensions continue after ctx
// has ended, since the work may need a while to notice; always call Stop.
func Start(ctx context.Context, began time.Time, ttl time.Duration, lost error, extend func(context.Context) error) (context.Context, *Keeper) {
	work, cancel := context.WithCancelCause(ctx)
	until, stop := context.WithCancel(context.WithoutCancel(ctx))
	k := &Keeper{cancel: cancel, stop: stop, over: make(chan struct{})}
	term := lease.NewTerm(ttl, 0)
	term.Extended(began)
	go func() {
		defer close(k.over)
		if term.Keep(until, lost, extend) != nil {
			k.lost.Store(true)
			k.cancel(lost)
		}
	}()
	return work, k
}

// Stop ends the extensions, waits for a running one, and cancels the context of the work.
func (k *Keeper) Stop() {
	k.stop()
	<-k.over
	k.cancel(context.Canceled)
}

// Lost reports whether the lease was lost.
func (k *Keeper) Lost() bool { return k.lost.Load() }
