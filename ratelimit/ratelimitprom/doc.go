// Package ratelimitprom exports metrics of a rate limiter to Prometheus.
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
//	millrace_rate_limiter_tokens{priority}                  calls that a priority could have at once: high those of the
//	                                                        shared bucket, low the lesser of those and of its cap
//	millrace_rate_limiter_tokens_age_seconds                age of these values, as this process saw them
//	millrace_rate_limiter_day_used                          calls of the day's budget that are used
//	millrace_rate_limiter_waiting{priority}                 waiting callers
//	millrace_rate_limiter_circuit_breaker_state             0 closed, 1 half-open, 2 open
//
// Every series exists from the start, at 0 (TestEverySeriesFromTheStart). The tests of the
// counts are TestCounts, TestEveryReason and TestRateAndTokens. Each process counts for itself;
// add the counts up. Tokens and the day are as of the process's last call, whose age is
// exported: a process that makes no calls exports old values.
package ratelimitprom
