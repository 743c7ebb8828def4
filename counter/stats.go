package counter

import (
	"errors"
	"sync/atomic"

	"github.com/millrace-go/millrace/counter/driver"
)

// FlusherStats counts the work of a flusher in this process.
type FlusherStats struct {
	Counter   string // the name of the flushed counter
	Rounds    int64  // successful rounds
	Standby   int64  // rounds that found another flusher at work
	Failed    int64  // failed rounds
	Batches   int64  // transactions that changed totals, or read rows
	Rows      int64  // change rows, or deltas, in these
	Repeated  int64  // batches that had been applied already
	Discarded int64  // deltas whose rows were applied
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
func (f *Flusher) Stats() FlusherStats {
	s := &f.stats
	return FlusherStats{
		Counter: f.counter,
		Rounds:  s.rounds.Load(), Standby: s.standby.Load(), Failed: s.failed.Load(), Batches: s.batches.Load(),
		Rows: s.rows.Load(), Repeated: s.repeated.Load(), Discarded: s.discarded.Load(),
	}
}
