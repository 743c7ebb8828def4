package coalesce

import "sync/atomic"

// Stats counts the work of a [Coalescer] since it was created.
type Stats struct {
	Published int64 // requests that took a free lock
	Coalesced int64 // requests for a key that was being refreshed already: millrace_coalesce_hit_total
	Upgraded  int64 // requests that took over from low priority: millrace_coalesce_upgrade_total
	Reruns    int64 // next runs that Done began because of Again
	Conflicts int64 // tickets that did not hold their lock any more: millrace_coalesce_lock_conflict_total
	Obsolete  int64 // events found or reported to be obsolete: millrace_coalesce_obsolete_total
	Refused   int64 // calls that failed because the store is unavailable
	Breaker   string
}

type counters struct {
	published, coalesced, upgraded, reruns, conflicts, obsolete, refused atomic.Int64
}

// Stats returns the counts; Breaker is "closed", "half-open" or "open".
func (c *Coalescer) Stats() Stats {
	n := &c.counts
	return Stats{
		Published: n.published.Load(), Coalesced: n.coalesced.Load(), Upgraded: n.upgraded.Load(), Reruns: n.reruns.Load(),
		Conflicts: n.conflicts.Load(), Obsolete: n.obsolete.Load(), Refused: n.refused.Load(), Breaker: c.guard.circuit.State().String(),
	}
}
