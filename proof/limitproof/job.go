package limitproof

import (
	"time"

	"github.com/millrace-go/millrace/ratelimit"
)

// job is a worker's task in one act. Moments are those of boottime.
type job struct {
	Budget     string           `json:"budget"` // its name in Redis
	Redis      string           `json:"redis"`
	Upstream   string           `json:"upstream"`
	Instance   string           `json:"instance"`
	Limits     ratelimit.Limits `json:"limits"`
	Begin, End time.Duration

	Demand demand `json:"demand"`
}

// demand is the demand of one worker.
type demand struct {
	// HighEvery is the time between two calls of high priority, made whether or not the
	// last one was answered; 0 for none.
	HighEvery time.Duration `json:"highEvery"`
	// HighOffset is when the first call is made, after the beginning.
	HighOffset time.Duration `json:"highOffset"`
	// HighCallers and LowCallers make one call after the other, without a pause. The
	// calls of high priority begin after HighOffset.
	HighCallers int `json:"highCallers"`
	LowCallers  int `json:"lowCallers"`
	// LowAsks is how many low calls a second are asked for without waiting.
	LowAsks int `json:"lowAsks"`
	// Touch makes one call before the others, whose HighOffset begins with its answer:
	// missing state is empty, and begins to fill with the first call.
	Touch bool `json:"touch"`
	// Garbage keeps the collector at work.
	Garbage bool `json:"garbage"`
}

// done is a worker's report after an act.
type done struct {
	Written   int64         `json:"written"` // calls, at their connections
	Failed    int64         `json:"failed"`  // calls that got no permit or no answer
	Acquired  uint64        `json:"acquired"`
	Returned  uint64        `json:"returned"`
	Asked     int64         `json:"asked"`   // without waiting
	Refused   int64         `json:"refused"` // of those
	Trips     uint64        `json:"trips"`   // calls of Redis
	FirstHigh time.Duration `json:"firstHigh"`
	Slowest   time.Duration `json:"slowest"` // high call, from asking to its answer

	Collections uint64        `json:"collections"`
	Pause       time.Duration `json:"pause"` // the longest
}

// sum adds the reports of all workers.
func sum(all []done) done {
	var s done
	for _, d := range all {
		s.Written += d.Written
		s.Failed += d.Failed
		s.Acquired += d.Acquired
		s.Returned += d.Returned
		s.Asked += d.Asked
		s.Refused += d.Refused
		s.Trips += d.Trips
		s.Collections += d.Collections
		s.Pause = max(s.Pause, d.Pause)
		s.Slowest = max(s.Slowest, d.Slowest)
		if s.FirstHigh == 0 || d.FirstHigh > 0 && d.FirstHigh < s.FirstHigh {
			s.FirstHigh = d.FirstHigh
		}
	}
	return s
}

// expired are the permits that were neither used nor returned in time.
func (d done) expired() int {
	return max(0, int(d.Acquired)-int(d.Returned)-int(d.Written)) // unused grants are returned without being acquired
}
