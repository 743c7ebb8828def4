// Package ratelimitprom shows a rate limiter to Prometheus.
//
//	collector, err := ratelimitprom.New(limiter, ratelimitprom.Config{})
//	…
//	registry.MustRegister(collector)
//
//	series                                                  meaning
//	millrace_rate_limiter_acquired_total{priority}          calls granted to this process
//	millrace_rate_limiter_rejected_total{priority,reason}   calls refused; reason is global, low_cap, yield,
//	                                                        low_share, day, unavailable
//	millrace_rate_limiter_returned_total                    calls granted and given back
//	millrace_rate_limiter_store_calls_total                 calls of the store
//	millrace_rate_limiter_rps                               calls granted to this process within the last second
//	millrace_rate_limiter_tokens{priority}                  what a priority could have at once: high that of the shared
//	                                                        bucket, low the lesser of it and of its cap
//	millrace_rate_limiter_tokens_age_seconds                how long ago that was seen, by this process
//	millrace_rate_limiter_day_used                          calls of the day's budget that are used
//	millrace_rate_limiter_waiting{priority}                 callers that wait
//	millrace_rate_limiter_circuit_breaker_state             0 closed, 1 half-open, 2 open
//
// Every series is there from the start, at 0 (TestEverySeriesFromTheStart), and
// counts what happened (TestCounts, TestEveryReason, TestRateAndTokens). Each process
// counts its own; add them up. Tokens and the day are as the process saw them last,
// which the age tells: one that does not call shows them old.
package ratelimitprom
