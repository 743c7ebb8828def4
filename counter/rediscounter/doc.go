// Package rediscounter keeps a counter's deltas in Redis, or in a Redis Cluster.
//
//	key                                        holds
//	count:comment:delta:{comment:07}:post-1    the delta of post-1, made by INCRBY
//	count:comment:keys:{comment:07}            set: the keys that have a delta
//	count:comment:aside:{comment:07}:<batch>   hash: deltas that were moved aside
//	count:comment:asides:{comment:07}          set: the batches that lie aside
//
// In braces is what a Cluster chooses the node by: the counter and one of its 16
// parts, which is FNV-1a (32 bits) of the key modulo 16. All that a script touches is of
// one part, hence on one node, and the parts spread a counter over the nodes. A delta is
// made and noted in its set by one script: there is never one that a flusher would
// have to scan for. Redis 6.2 or later; no KEYS, no SCAN.
//
//	property                                                 proven by
//	Store's contract, on one server and on a Cluster         TestConformance
//	keys are named as above, and none stays                  TestKeys
//	a foreign value stops nobody                             TestForeignValue, TestForeignBatch
//	sums beyond 2^53 stay exact                              TestLargeSums
//	a lost Redis, and scripts that are lost, stop nothing    TestLostRedis
//	a Redis that is away has its class                       TestAway
//
// Failure modes: what a Redis loses (a flush, a failover before its replica had it)
// is lost here. A failover that brings back a delta which was moved aside and
// applied lets it be applied twice. A call without an answer may have been carried
// out: the client must not repeat it (New refuses one that does). Totals made of a
// [counter.Source] are above all that. Let nothing be evicted (maxmemory-policy
// noeviction), or pending deltas go with it.
package rediscounter
