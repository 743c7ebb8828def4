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
// # Why a key has its part
//
// A plainer name would be count:comment:delta:{post-1}, with the post as what a Cluster
// chooses the slot by. It is not the name here because of what has to be atomic:
//
//   - Add changes the delta and notes its key. In two slots these are two calls; a
//     process that dies between them leaves a delta that only a SCAN would find.
//   - Take moves deltas aside under one batch id. A Cluster refuses a call on the keys
//     of two posts (CROSSSLOT), so each post would be a batch of its own: a call of
//     Redis and a row of count_batches for each post and flush. With 5,000 posts that
//     change, a flush is at most 16 batches; by post it would be 5,000, every 3 s, and
//     each row is kept for 30 days.
//
// A set of changed keys for each slot, in place of each part, has the same price: 5,000
// posts are of 4,300 slots. On one server without a Cluster the names are the same, so
// that a move to a Cluster loses no delta.
//
//	property                                                 proven by
//	Store's contract, on one server and on a Cluster         TestConformance
//	keys are named as above, and none stays                  TestKeys
//	keys by post alone: a Cluster refuses to move them
//	together, so each would be a batch                       TestKeysByPostAreNoBatch
//	a flush of 5,000 posts is at most 16 batches, and two
//	calls for each                                           TestAFlushIsAFewBatches
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
