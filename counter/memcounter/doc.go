// Package memcounter keeps deltas, totals and change rows in memory, for tests and for programs
// of one process that can count again when they start.
//
//	property                                       proven by
//	Store, Applier and Log keep the contracts      TestConformance
//
// Failure modes: everything ends with the process.
package memcounter
