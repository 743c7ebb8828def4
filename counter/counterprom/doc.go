// Package counterprom shows counters to Prometheus.
//
//	collector, err := counterprom.New(counterprom.Config{Counters: …, Flushers: …})
//	…
//	registry.MustRegister(collector)
//
//	series                                             meaning, of this process
//	millrace_counter_adds_total{counter,outcome}       additions: ok, failed (a Source makes up for them)
//	millrace_counter_rounds_total{counter,outcome}     rounds of a flusher: ok, standby, failed
//	millrace_counter_batches_total{counter}            transactions that brought totals up to date
//	millrace_counter_rows_total{counter}               change rows, or deltas, in these
//	millrace_counter_repeated_batches_total{counter}   batches that were found applied already
//	millrace_counter_discarded_deltas_total{counter}   deltas dropped because their rows are applied
//
//	property                                     proven by
//	every series is there from the start, at 0   TestEverySeriesFromTheStart
//	they count what happened                     TestCounts
//
// Each process shows its own counts: add them up. Failure modes: none of its own; a
// scrape reads what the process knows and asks no store.
package counterprom
