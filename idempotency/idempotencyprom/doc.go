// Package idempotencyprom shows what idempotency guards do to Prometheus.
//
//	collector, err := idempotencyprom.New(idempotencyprom.Config{Guards: …, Leases: …, HTTP: …})
//	…
//	registry.MustRegister(collector)
//
//	series                                             meaning, of this process
//	millrace_idempotency_events_total{group,outcome}   events of guards: handled, duplicate, failed
//	millrace_idempotency_claims_total{group,outcome}   claims of leases and of HTTP requests: claimed, done (a duplicate),
//	                                                   taken (another is at it), mismatched (another request), failed
//	millrace_idempotency_leases_lost_total{group}      claims that were lost while the work went on, whose effect may
//	                                                   have been had twice
//
//	property                                    proven by
//	every series is there from the start, at 0  TestEverySeriesFromTheStart
//	they count what happened                    TestGuardsAreCounted, TestClaimsAreCounted
//	guards of one group are added up            TestGuardsAreCounted
//
// Each process shows its own counts: add them up. Failure modes: none of its own; a
// scrape reads what the process knows and asks no store. An event whose transaction
// is rolled back after the guard comes again, and counts again.
package idempotencyprom
