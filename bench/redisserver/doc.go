// Package redisserver starts a redis-server that nobody else uses, so that its
// processor time, its memory and how long it was blocked are those of the one
// who is measured.
//
//	property                                                    proven by
//	it runs, ends, and leaves nothing behind                    TestOwn
//	without one in PATH the given one is used, and is left up   TestGiven
//	a slow command is found, and the others' waiting for it     TestBlocked, TestBlockedAndBusy
//	a failing measurement is not measured, and says so          TestBlockedFails
//
// Failure modes: on the Redis of a URL all figures count what others do, and how
// long it was blocked is only what a prober beside it waits.
package redisserver
