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

// Reason is the reason of a refusal, and a label of metrics: "global", "low_cap", "yield",
// "low_share", "day" or "unavailable"; package driver has the constants.
type Reason = driver.Reason
