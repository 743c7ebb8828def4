// Package memidempotency remembers idempotency keys in memory, for tests and
// for handlers whose effect lives in the same process.
//
//	property                                              proven by
//	one effect per key, also among concurrent calls       TestConformance
//	a failing or panicking handler leaves no key          TestConformance
//	a waiting duplicate ends with its context             TestConformance
//	batches take all their keys at once: no deadlock      TestBatchesDoNotDeadlock
//	leases: one holder, growing tokens, takeover          TestLeaseConformance, TestLeaseModel
//
// Failure modes: the keys are gone when the process ends, and nothing bounds
// their number but Prune. There is no transaction: what a handler wrote before
// it failed stays, and a key stays when an outer transaction rolls back. Where
// effects go to a database, use sqlidempotency on that database.
package memidempotency
