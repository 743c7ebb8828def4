package idempotency

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/lease"
)

// Stats count the events of a [Guard] in this process. If the guard joined a transaction of its
// caller, that transaction may still be rolled back: then the event is delivered again, and
// counts again.
type Stats struct {
	Group      string // the consumer group of the guard
	Handled    int64  // the event took effect
	Duplicates int64  // skipped: the event had taken effect before
	Failed     int64  // the handler or the store failed; the transaction was rolled back
}

type guardCounts struct{ handled, duplicates, failed atomic.Int64 }

// Stats returns the counts since the guard was created.
func (g *Guard[Tx]) Stats() Stats {
	return Stats{Group: g.cfg.Group, Handled: g.counts.handled.Load(), Duplicates: g.counts.duplicates.Load(), Failed: g.counts.failed.Load()}
}

// LeaseStats count the claims of a [Leases] or an [HTTP] in this process.
type LeaseStats struct {
	Group      string // of the configuration; "http" is the default of an HTTP
	Claimed    int64  // the key was new or free, and the work began
	Done       int64  // duplicates: the work was done before
	Taken      int64  // refused while another worker held the key
	Mismatched int64  // refused: the key belongs to another request
	Failed     int64  // refused: the store did not answer
	// Lost counts the Claimed whose lease was lost: another worker may have held the key while
	// the work went on, so the effect may have happened twice.
	Lost int64
}

type leaseCounts struct{ claimed, done, taken, mismatched, failed, lost atomic.Int64 }

func (c *leaseCounts) stats(group string) LeaseStats {
	return LeaseStats{
		Group: group, Claimed: c.claimed.Load(), Done: c.done.Load(), Taken: c.taken.Load(), Mismatched: c.mismatched.Load(),
		Failed: c.failed.Load(), Lost: c.lost.Load(),
	}
}

// Stats returns the counts since l was created.
func (l *Leases) Stats() LeaseStats { return l.run.counts.stats(l.keys.Group) }

// Stats returns the counts since h was created.
func (h *HTTP) Stats() LeaseStats { return h.run.counts.stats(h.cfg.Group) }

// claim requests a key from the store.
func (r runner) claim(ctx context.Context, record driver.Record) (Claim, error) {
	asking, cancel := lease.Asking(ctx)
	defer cancel()
	c, err := r.store.Claim(asking, record, r.ttl)
	switch {
	case err != nil:
		r.counts.failed.Add(1)
	case c.State == driver.Claimed:
		r.counts.claimed.Add(1)
	case c.State == driver.Done:
		r.counts.done.Add(1)
	case c.State == driver.Mismatch:
		r.counts.mismatched.Add(1)
	default:
		r.counts.taken.Add(1)
	}
	return c, err
}

// ended counts a claim that was lost before its work ended.
func (r runner) ended(err error) {
	if errors.Is(err, driver.ErrLeaseLost) {
		r.counts.lost.Add(1)
	}
}
