package idempotency

import (
	"context"
	"errors"
	"sync/atomic"
)

// Stats count what became of the events of a [Guard], in this process. Where the
// guard joined a transaction of its caller, that may still be rolled back: then the
// event comes again, and counts again.
type Stats struct {
	Handled    int64 // their effect was had
	Duplicates int64 // skipped: their effect had been had before
	Failed     int64 // the handler or the store failed; nothing was kept
}

// Group is the consumer group whose effects are guarded.
func (g *Guard[Tx]) Group() string { return g.cfg.Group }

// Group is the consumer group whose effects are guarded.
func (l *Leases) Group() string { return l.keys.Group }

// Group is the Group of its configuration, "http" by default.
func (h *HTTP) Group() string { return h.cfg.Group }

type guardCounts struct{ handled, duplicates, failed atomic.Int64 }

// Stats returns the counts since the guard was made.
func (g *Guard[Tx]) Stats() Stats {
	return Stats{Handled: g.counts.handled.Load(), Duplicates: g.counts.duplicates.Load(), Failed: g.counts.failed.Load()}
}

// LeaseStats count what became of the claims of a [Leases] or an [HTTP], in this
// process.
type LeaseStats struct {
	Claimed    int64 // the key was new or free, and the work began
	Done       int64 // duplicates: the work was done before
	Taken      int64 // refused while another worker was at it
	Mismatched int64 // refused: the key stands for another request
	Failed     int64 // the store could not be asked; refused
	// Lost of those Claimed: another may have had the key while the work went on,
	// so its effect may have been had twice.
	Lost int64
}

type leaseCounts struct{ claimed, done, taken, mismatched, failed, lost atomic.Int64 }

func (c *leaseCounts) stats() LeaseStats {
	return LeaseStats{
		Claimed: c.claimed.Load(), Done: c.done.Load(), Taken: c.taken.Load(), Mismatched: c.mismatched.Load(),
		Failed: c.failed.Load(), Lost: c.lost.Load(),
	}
}

// Stats returns the counts since l was made.
func (l *Leases) Stats() LeaseStats { return l.run.counts.stats() }

// Stats returns the counts since h was made.
func (h *HTTP) Stats() LeaseStats { return h.run.counts.stats() }

// claim asks the store for a key.
func (r runner) claim(ctx context.Context, record Record) (Claim, error) {
	c, err := r.store.Claim(ctx, record, r.ttl)
	switch {
	case err != nil:
		r.counts.failed.Add(1)
	case c.State == Claimed:
		r.counts.claimed.Add(1)
	case c.State == Done:
		r.counts.done.Add(1)
	case c.State == Mismatch:
		r.counts.mismatched.Add(1)
	default:
		r.counts.taken.Add(1)
	}
	return c, err
}

// ended counts a claim whose work ended when it was not ours any more.
func (r runner) ended(err error) {
	if errors.Is(err, ErrLeaseLost) {
		r.counts.lost.Add(1)
	}
}
