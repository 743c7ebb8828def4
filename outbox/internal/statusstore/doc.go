// Package statusstore is the outbox's status store: one table, outbox_events, whose rows hold
// the state of each event. The databases differ in how they read pending rows in a safe order,
// and in the text of their statements.
//
//	property                                              proven by
//	all guarantees of package outbox                      the TestStatusConformance of each database's package
//	statements take the same parameters in every dialect  TestStatement
//	rows that become visible late are read, each once and
//	before the later rows of their key                    TestLateRows
package statusstore
