package driver

import (
	"context"
	"time"
)

// Store keeps the state of one budget. The store's clock decides, never a caller's.
type Store interface {
	// Acquire decides the runs in their order, as if each call in them had been asked for
	// alone: a call is granted as a whole or charged nothing.
	//
	// After an error the outcome is unknown: the calls may have been charged, and are refused.
	// Acquire must return soon after the context ends: all callers of the process wait for it.
	Acquire(ctx context.Context, plan *Plan, ask Ask) (Grant, error)
	// Return gives back the unused part of a permit. The store ignores grants that are older
	// than plan.Delay by its own clock, and grants that are not in its state any more.
	Return(ctx context.Context, plan *Plan, r Returned) error
}

// Ask is a request of one process, for all its callers at one moment.
type Ask struct {
	// Runs of equal calls; those of high priority first.
	Runs []Run
	// Day is the highest count of the day that this process has seen. The store continues from
	// the higher of this count and its own, so that lost state does not give the day back.
	Day DayCount
}

// Run is a number of equal calls.
type Run struct {
	Priority Priority
	Size     int // calls that each one takes; at least 1, at most the largest call that the plan can ever grant
	Count    int // calls; at least 1
	// Wait says that the callers wait. When a waiting call of high priority is refused, low
	// ones are refused for Plan.Yield, so that the next free calls go to the waiting call, in
	// whichever process it is. The content of LowShare is exempt. When a call of low priority
	// is refused, high ones leave the share free until its RetryAfter and Plan.Hold are over.
	Wait bool
}

// Grant is the answer to an [Ask].
type Grant struct {
	// Runs has an answer for each run of the Ask.
	Runs []RunGrant
	// At is the store's time of the decision, in µs since 1970.
	At int64
	// Remaining is how many calls could be granted at once right after the decision, by
	// priority (index Low, High).
	Remaining [2]int
	// Day is the count of the day after the decision.
	Day DayCount
}

// RunGrant is the answer to a [Run].
type RunGrant struct {
	Granted int // how many of its calls
	// Reason of the refusals; "" if there was none.
	Reason Reason
	// RetryAfter is when one call of the run's size could be granted at the earliest, if no
	// other caller took any.
	RetryAfter time.Duration
}

// Returned is an unused permit.
type Returned struct {
	Priority Priority
	Size     int
	At       int64    // Grant.At of its grant
	Day      DayCount // the highest count of the day that this process has seen
}

// DayCount is how much of a day's budget is used.
type DayCount struct {
	Day  int64 // days since 1970, shifted by Day.Offset of the [Plan]
	Used int64
}

// Reason is the reason of a refusal, and a label of metrics.
type Reason string

// The reasons.
const (
	ReasonGlobal      Reason = "global"      // the shared budget is used up for the moment
	ReasonLowCap      Reason = "low_cap"     // the part of low priority is used up
	ReasonYield       Reason = "yield"       // the remaining calls are for a waiting call of high priority
	ReasonLowShare    Reason = "low_share"   // the remaining calls are the share of low priority, which waits
	ReasonDay         Reason = "day"         // the budget of the day, or low priority's part of it, is used up
	ReasonUnavailable Reason = "unavailable" // the store does not answer: nothing is granted
)
