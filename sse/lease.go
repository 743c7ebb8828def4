package sse

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/millrace-go/millrace/internal/lease"
	"github.com/millrace-go/millrace/sse/driver"
)

// instanceLease is this process's lease: while it holds, its entries in the Cap count.
type instanceLease struct {
	instance   string // "" while there is none
	live       driver.Live
	generation int       // of the audience
	until      time.Time // when streams have to be ended, unless it is renewed
}

// newInstance names a lease that never existed before, so that entries made under
// one that lapsed stay ghosts.
func newInstance() string { return rand.Text()[:16] }

// leased returns the lease, if streams may open under it.
func (h *Hub) leased() (instanceLease, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.draining || !h.started.Load():
		return instanceLease{}, errDraining
	case h.lease.instance == "" || !time.Now().Before(h.lease.until):
		return instanceLease{}, ErrUnavailable
	}
	return h.lease, nil
}

// keepLease keeps a lease as long as ctx lasts. If the lease could not be renewed, it
// ends the streams when a sixth of the time is left: before another process takes their
// entries for ghosts.
func (h *Hub) keepLease(ctx context.Context) {
	for ctx.Err() == nil {
		instance := newInstance()
		term := lease.NewTerm(h.cfg.Lease, h.cfg.Lease/6)
		if term.Keep(ctx, nil, func(ctx context.Context) error { return h.renew(ctx, instance, term) }) != nil {
			h.fence()
		}
	}
}

func (h *Hub) renew(ctx context.Context, instance string, term *lease.Term) error {
	limited, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
	defer cancel()
	asked := time.Now()
	live, err := h.cap.Renew(limited, instance, h.cfg.Lease)
	switch {
	case err == nil && ctx.Err() == nil:
		h.leaseIs(instance, live, term.Until(asked))
	case !errors.Is(ctx.Err(), context.Canceled): // also when the lease ran out meanwhile
		h.failed("renew the lease", cmp.Or(err, ctx.Err()))
	}
	return err
}

func (h *Hub) leaseIs(instance string, live driver.Live, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lease.instance, h.lease.live, h.lease.until = instance, live, until
	h.settle()
}

// fence ends all streams: other processes may count them as ghosts soon.
func (h *Hub) fence() {
	h.mu.Lock()
	generation, streams := h.audience.turn()
	h.lease = instanceLease{generation: generation}
	h.settle()
	h.mu.Unlock()
	for _, s := range streams {
		s.end(endedOutage, fallbackFrame(h.cfg.spread(), h.cfg.Inbox))
	}
}
