package gate

import "sync/atomic"

// Stats are the counts of a gate since it was made.
type Stats struct {
	Inside  int64 // requests of visitors inside that went on
	Passed  int64 // requests that needed no place
	Entered int64 // navigations that got a pass
	Waited  int64 // navigations that got the waiting page
	Refused int64 // other requests without a place
	Odd     int64 // requests that can be read in more than one way, by their path or an Upgrade
	Failed  int64 // requests that the origin did not answer
	Open    int64 // requests that are open at the origin now
}

type counts struct{ inside, passed, entered, waited, refused, odd, failed, open atomic.Int64 }

// Stats reads the counts.
func (g *Gate) Stats() Stats {
	c := &g.counts
	return Stats{
		Inside: c.inside.Load(), Passed: c.passed.Load(), Entered: c.entered.Load(), Waited: c.waited.Load(),
		Refused: c.refused.Load(), Odd: c.odd.Load(), Failed: c.failed.Load(), Open: c.open.Load(),
	}
}
