// Package counterprom exports metrics of counters to Prometheus.
//
//	collector, err := counterprom.New(counterprom.Config{Counters: …, Flushers: …})
//	…
//	registry.MustRegister(collector)
//
//	series                                             meaning, of this process
//	millrace_counter_adds_total{counter,outcome}       additions: ok, failed (a Source corrects the totals)
//	millrace_counter_rounds_total{counter,outcome}     rounds of a flusher: ok, standby, failed
//	millrace_counter_batches_total{counter}            transactions that updated totals
//	millrace_counter_rows_total{counter}               change rows, or deltas, in these
//	millrace_counter_repeated_batches_total{counter}   batches that had been applied already
//	millrace_counter_discarded_deltas_total{counter}   deltas dropped because their rows are applied
//
//	property                                     proven by
//	every series exists from the start, at 0     TestEverySeriesFromTheStart
//	they count adds, rounds and batches          TestCounts
//
// Each process exports its own counts: add them up. Failure modes: none; a scrape reads counts
// in memory and calls no store.
package counterprom
