package driver

import "time"

// DayLimit is a budget for each day.
type DayLimit struct {
	// Limit is how many calls a day has; 0 for no limit.
	Limit int64
	// HighReserve is how many of them low priority leaves to high; 0 by default.
	HighReserve int64
	// Offset is the beginning of the upstream's day, after midnight UTC: between -24 h and
	// 24 h, 0 by default.
	Offset time.Duration
}

// Plan holds the limits for a [Store]. Limits.Plan, in ratelimit, creates it.
type Plan struct {
	Strict bool
	// Rate and LowRate are calls per second; in strict mode calls per Window.
	Rate, LowRate int
	// Burst and LowBurst are the capacities of the buckets; in strict mode Rate
	// and LowRate.
	Burst, LowBurst int
	// Window of strict mode: 1 s + Delay.
	Window time.Duration
	// Delay is how long after a grant its call may arrive at the upstream, and how long after
	// it the permit can be given back.
	Delay time.Duration
	// UseFor is how long a permit is valid after its process asked for it.
	UseFor time.Duration
	// Yield is how long low priority is refused after the refusal of a waiting call of high
	// priority.
	Yield time.Duration
	// LowShare is the percentage of LowRate that low priority gets at least; 0 for none.
	LowShare int
	// Hold is how long high priority leaves this share free after the retry time of a refused
	// call of low priority.
	Hold time.Duration
	Day  DayLimit
	// Arithmetic shows, for operators, why the hard limit holds.
	Arithmetic string
}
