package sse

import (
	"context"
	"time"
)

// sweep removes ghosts of members that do not come back, every two lifetimes, a
// bounded step at a time. The first sweep comes at a random time within that, so
// that processes that began together do not sweep together.
func (h *Hub) sweep(ctx context.Context) {
	every := 2 * h.cfg.Lifetime
	timer := time.NewTimer(time.Duration(h.cfg.Random() * float64(every)))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		h.sweepOnce(ctx)
		timer.Reset(every)
	}
}

func (h *Hub) sweepOnce(ctx context.Context) {
	from := ""
	for ctx.Err() == nil {
		held, err := h.leased()
		if err != nil {
			return
		}
		limited, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
		swept, err := h.cap.Sweep(limited, h.cfg.rules(), held.live, from)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				h.failed("sweep", err)
			}
			return
		}
		h.stats.ghosts.Add(int64(swept.Removed))
		if swept.Done {
			return
		}
		from = swept.Next
	}
}
