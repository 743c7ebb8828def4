package ratelimit

import "github.com/millrace-go/millrace/ratelimit/driver"

// Priority is the priority of a call.
type Priority = driver.Priority

// Low calls are limited by the low cap; High calls can use the whole budget and are served
// first when both wait. The zero value is Low.
const (
	Low  = driver.Low
	High = driver.High
)

// Reason is the reason of a refusal, and a label of metrics.
type Reason = driver.Reason

// The reasons.
const (
	ReasonGlobal      = driver.ReasonGlobal      // "global": the shared budget is used up for the moment
	ReasonLowCap      = driver.ReasonLowCap      // "low_cap": the part of low priority is used up
	ReasonYield       = driver.ReasonYield       // "yield": the remaining calls are for a waiting call of high priority
	ReasonLowShare    = driver.ReasonLowShare    // "low_share": the remaining calls are the share of low priority, which waits
	ReasonDay         = driver.ReasonDay         // "day": the budget of the day, or low priority's part of it, is used up
	ReasonUnavailable = driver.ReasonUnavailable // "unavailable": the store does not answer, so nothing is granted
)
