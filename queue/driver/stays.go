package driver

import (
	"math"
	"time"
)

// StayBuckets is the number of lengths that Stays tells apart.
const StayBuckets = 28

// Stays say how long users have stayed inside, from their first sign of life on. The
// store keeps them in a bounded number of counts: the wait is estimated from them.
type Stays struct {
	// Active, NoShow, Tick and Batch are those of the Rules by which users entered
	// last, if any have: the Rules of an operator's program may be others.
	Active, NoShow, Tick time.Duration
	Batch                int
	// Inside are the users inside by their age. Users that came in at about the same
	// time, a thirtieth of Rules.Active, are one cohort of their mean age. The oldest come first.
	Inside []Cohort
	// Ended are the stays that are over, of the users that came in within the time
	// Over: Ended[StayBucket(d)] of the length d. The store begins a new count from time to
	// time, so that they are those of the recent users.
	Ended [StayBuckets]int64
	Over  time.Duration
	// Came are the users admitted from the line that have come in time.
	Came int64
}

// Cohort is users inside, and how long they have been there on average.
type Cohort struct {
	Users int
	Age   time.Duration
}

// StayBucket is the bucket of a length: those of a bucket differ by less than a
// factor of the square root of two.
func StayBucket(d time.Duration) int {
	if d < time.Second {
		return 0
	}
	return min(int(2*math.Log2(d.Seconds())), StayBuckets-1)
}
