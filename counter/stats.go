package counter

import (
	"errors"
	"sync/atomic"

	"github.com/millrace-go/millrace/counter/driver"
)

// Stats counts the work of a counter in this process.
type Stats struct {
	Name         string // the counter's
	Added        int64  // successful calls of Add
	Failed       int64  // failed calls of Add
	Rounds       int64  // successful rounds of Run and Flush
	Standby      int64  // rounds that found another process at work
	FailedRounds int64  // failed rounds
	Batches      int64  // transactions that changed totals, or read rows
	Rows         int64  // change rows, or deltas, in these
	Repeated     int64  // batches that had been applied already
	Discarded    int64  // deltas whose rows were applied
}

type flusherStats struct {
	rounds, standby, failed, batches, rows, repeated, discarded atomic.Int64
}

func (s *flusherStats) count(r *Round, err error) {
	switch {
	case err == nil:
		s.rounds.Add(1)
	case errors.Is(err, driver.ErrLeaseHeld):
		s.standby.Add(1)
	default:
		s.failed.Add(1)
	}
	s.batches.Add(int64(len(r.Batches)))
	for i := range r.Batches {
		s.rows.Add(int64(r.Batches[i].Rows))
	}
	s.repeated.Add(int64(len(r.Repeated)))
	for i := range r.Discarded {
		s.discarded.Add(int64(len(r.Discarded[i].Deltas)))
	}
}

// Stats returns the counts so far.
func (c *Counter) Stats() Stats {
	out := Stats{Name: c.name, Added: c.added.Load(), Failed: c.failed.Load()}
	if c.flusher != nil {
		s := &c.flusher.stats
		out.Rounds, out.Standby, out.FailedRounds = s.rounds.Load(), s.standby.Load(), s.failed.Load()
		out.Batches, out.Rows, out.Repeated, out.Discarded = s.batches.Load(), s.rows.Load(), s.repeated.Load(), s.discarded.Load()
	}
	return out
}
