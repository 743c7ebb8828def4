package sse

import (
	"context"
	"crypto/rand"
	"time"
)

// lease is this process's: while it holds, its entries in the Cap count.
type lease struct {
	instance   string // "" while there is none
	live       Live
	generation int       // of the audience
	until      time.Time // when streams have to be ended, unless it is renewed
}

// newInstance names a lease that was never there, so that entries which were made
// under one that lapsed stay ghosts.
func newInstance() string { return rand.Text()[:16] }

// leased returns the lease, if streams may open under it.
func (h *Hub) leased() (lease, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.draining || !h.started.Load():
		return lease{}, ErrDraining
	case h.lease.instance == "" || !time.Now().Before(h.lease.until):
		return lease{}, ErrUnavailable
	}
	return h.lease, nil
}

// keepLease renews the lease three times in its time. The time that counts begins
// before the call that renewed it, and ends when a sixth of it is left: then the
// streams are ended, before another process takes their entries for ghosts.
func (h *Hub) keepLease(ctx context.Context) {
	instance := newInstance()
	var fence time.Time // zero: no lease
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		asked := time.Now()
		if !fence.IsZero() && !asked.Before(fence) {
			h.fence()
			instance, fence = newInstance(), time.Time{}
		}
		limit := h.cfg.Timeout
		if !fence.IsZero() {
			limit = min(limit, fence.Sub(asked))
		}
		live, err := h.renew(ctx, instance, limit)
		if ctx.Err() != nil {
			return
		}
		pause := h.cfg.Lease / 3
		if err != nil {
			h.failed("renew the lease", err)
			pause = h.cfg.Lease / 15
		} else {
			fence = asked.Add(h.cfg.Lease - h.cfg.Lease/6)
			h.leaseIs(instance, live, fence)
		}
		if !fence.IsZero() {
			pause = min(pause, max(0, time.Until(fence)))
		}
		timer.Reset(pause)
	}
}

func (h *Hub) renew(ctx context.Context, instance string, limit time.Duration) (Live, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return h.cap.Renew(ctx, instance, h.cfg.Lease)
}

func (h *Hub) leaseIs(instance string, live Live, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lease.instance, h.lease.live, h.lease.until = instance, live, until
	h.settle()
}

// fence ends all streams: the others may count them as ghosts soon.
func (h *Hub) fence() {
	h.mu.Lock()
	generation, streams := h.audience.turn()
	h.lease = lease{generation: generation}
	h.settle()
	h.mu.Unlock()
	for _, s := range streams {
		s.end(Outage, fallbackFrame(h.cfg.spread(), h.cfg.Inbox))
	}
}
