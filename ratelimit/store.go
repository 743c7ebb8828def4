package ratelimit

import (
	"context"
	"time"
)

// Store keeps the state of one budget. Its clock decides, never a caller's. A
// Store is for backends; callers use a [Limiter].
type Store interface {
	// Acquire decides the runs in their order, as if each call in them had come
	// alone: a call is granted with all it needs or charged nothing at all.
	//
	// An error says that nothing is known: the calls may have been charged, and
	// are refused. It must come soon after the context ends: all callers of the
	// process wait for it.
	Acquire(ctx context.Context, plan *Plan, ask Ask) (Grant, error)
	// Return gives back what a permit was granted and did not use. The store
	// ignores what it granted longer than plan.Delay ago by its own clock, and
	// what is not in its state any more.
	Return(ctx context.Context, plan *Plan, r Returned) error
}

// Ask is what the callers of one process want at one moment.
type Ask struct {
	// Runs of equal calls; those of high priority first.
	Runs []Run
	// Day is the highest count of the day that this process has seen. The store
	// goes on from whichever is higher, its own or this one, so that lost state
	// does not give the day back.
	Day DayCount
}

// Run is a number of equal calls.
type Run struct {
	Priority Priority
	Size     int // what each call takes; at least 1 and at most what the plan can ever grant
	Count    int // calls; at least 1
	// Wait says that the callers wait. When a waiting call of high priority is
	// refused, low ones are refused for Plan.Yield, so that the next of what
	// becomes free is for the one that waits, in whatever process it is. What low
	// has of its LowShare is exempt; and when a call of low priority is refused, high
	// ones leave that share alone until its RetryAfter and Plan.Hold are over.
	Wait bool
}

// Grant is the answer to an [Ask].
type Grant struct {
	// Runs has an answer for each run of the Ask.
	Runs []RunGrant
	// At is the store's time of the decision, in µs since 1970.
	At int64
	// Remaining is what could be granted right after the decision, at once, by
	// priority (index Low, High).
	Remaining [2]int
	// Day is the count of the day after the decision.
	Day DayCount
}

// RunGrant is the answer to a [Run].
type RunGrant struct {
	Granted int // how many of its calls
	// Reason why the others were refused; "" when none was.
	Reason Reason
	// RetryAfter is when one call of the run's size could be granted at the
	// earliest, if nobody else took anything.
	RetryAfter time.Duration
}

// Returned is a permit that was not used.
type Returned struct {
	Priority Priority
	Size     int
	At       int64    // Grant.At of its grant
	Day      DayCount // the highest count of the day that this process has seen
}

// DayCount is how much of a day's budget is used.
type DayCount struct {
	Day  int64 // days since 1970, shifted by Day.Offset of the [Limits]
	Used int64
}

// Reason of a refusal, as metrics label it.
type Reason string

// The reasons.
const (
	ReasonGlobal      Reason = "global"      // the budget that all share is used up for the moment
	ReasonLowCap      Reason = "low_cap"     // the share of low priority is
	ReasonYield       Reason = "yield"       // a call of high priority waits for what is left
	ReasonLowShare    Reason = "low_share"   // what is left is the least share of low priority, which waits for it
	ReasonDay         Reason = "day"         // the day's budget is used up, or what low may use of it
	ReasonUnavailable Reason = "unavailable" // the store cannot be asked: nothing is granted
)
