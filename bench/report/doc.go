// Package report is what the benchmarks have in common: medians of interleaved
// rounds, goals, and the processor time that this process has used.
package report
