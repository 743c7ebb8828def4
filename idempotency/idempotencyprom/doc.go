// Package idempotencyprom exports metrics of idempotency guards to Prometheus.
//
//	collector, err := idempotencyprom.New(idempotencyprom.Config{Guards: …, Leases: …, HTTP: …})
//	…
//	registry.MustRegister(collector)
//
//	series                                             meaning, of this process
//	millrace_idempotency_events_total{group,outcome}   events of guards: handled, duplicate, failed
//	millrace_idempotency_claims_total{group,outcome}   claims of leases and of HTTP requests: claimed, done (a duplicate),
//	                                                   taken (another worker holds it), mismatched (another request), failed
//	millrace_idempotency_leases_lost_total{group}      claims that were lost while the work went on, whose effect may
//	                                                   have happened twice
//
//	property                                    proven by
//	every series exists from the start, at 0    TestEverySeriesFromTheStart
//	they count events and claims                TestGuardsAreCounted, TestClaimsAreCounted
//	guards of one group are summed              TestGuardsAreCounted
//
// Each process exports its own counts: add them up. Failure modes: none; a scrape reads counts
// in memory and calls no store. An event whose transaction is rolled back after the guard is
// delivered again, and counts again.
package idempotencyprom
