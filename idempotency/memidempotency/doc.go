// Package memidempotency keeps idempotency keys in memory, for tests and for handlers with
// effects in the same process.
//
//	property                                              proven by
//	one effect per key, also among concurrent calls       TestConformance
//	a failing or panicking handler leaves no key          TestConformance
//	a waiting duplicate ends with its context             TestConformance
//	batches take all their keys at once: no deadlock      TestBatchesDoNotDeadlock
//	leases: one holder, growing tokens, takeover          TestLeaseConformance, TestLeaseModel
//
// Failure modes: the keys are lost when the process ends, and only Prune bounds their number.
// There is no transaction: the writes of a failed handler stay, and a key stays when an outer
// transaction rolls back. If the effects go to a database, use sqlidempotency on that database.
package memidempotency
