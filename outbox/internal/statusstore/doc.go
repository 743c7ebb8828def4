// Package statusstore is the outbox's status store: one table, outbox_events,
// whose rows carry what became of them. The databases differ in how they read
// what is pending in a safe order, and in the text of their statements.
//
//	property                                              proven by
//	everything that package outbox promises               the TestStatusConformance of each database's package
//	statements take the same parameters in every dialect  TestStatement
//	rows that become visible late are read, each once and
//	before what follows them in their key                 TestLateRows
package statusstore
