// Package redisserver starts a private redis-server, so that its processor time,
// its memory and how long it was blocked are those of the measured system.
//
//	property                                                    proven by
//	it runs, ends, and leaves nothing behind                    TestOwn
//	without one in PATH the given one is used, and is left up   TestGiven
//	a slow command is found, and the others' waiting for it     TestBlocked, TestBlockedAndBusy
//	a failing measurement is not measured, and says so          TestBlockedFails
//
// Failure modes: on the Redis of a URL all figures include the work of others, and
// the blocked time is only the wait of a prober beside it.
package redisserver
