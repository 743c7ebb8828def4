// Package rediscounter keeps a counter's deltas in Redis, or in a Redis Cluster.
//
//	key                                        holds
//	count:comment:delta:{comment:07}:post-1    the delta of post-1, made by INCRBY
//	count:comment:keys:{comment:07}            set: the keys that have a delta
//	count:comment:aside:{comment:07}:<batch>   hash: deltas that were moved aside
//	count:comment:asides:{comment:07}          set: the batches that lie aside
//
// A Cluster chooses the node by the part in braces: the counter and one of its 16 parts, which
// is FNV-1a (32 bits) of the key modulo 16. All keys of a script are of one part, hence on one
// node, and the parts spread a counter over the nodes. One script makes a delta and notes its
// key in the set: a flusher never has to scan for a delta. Redis 6.2 or later; no KEYS, no
// SCAN.
//
// # Why a key has its part
//
// A plainer name would be count:comment:delta:{post-1}, so that a Cluster chooses the slot by
// the post. It is not used because these steps have to be atomic:
//
//   - Add changes the delta and notes its key. In two slots these are two calls; a process that
//     crashes between them leaves a delta that only a SCAN would find.
//   - Take moves deltas aside under one batch id. A Cluster refuses a call on the keys of two
//     posts (CROSSSLOT), so each post would be a separate batch: a call of Redis and a row of
//     count_batches for each post and flush. With 5,000 changed posts, a flush is at most 16
//     batches; by post it would be 5,000, every 3 s, and each row is kept for 30 days.
//
// A set of changed keys for each slot, instead of each part, has the same price: 5,000 posts
// have 4,300 slots. On one server without a Cluster the names are the same, so that a move to a
// Cluster loses no delta.
//
//	property                                                 proven by
//	Store's contract, on one server and on a Cluster         TestConformance
//	keys are named as above, and none stays                  TestKeys
//	keys by post alone: a Cluster refuses to move them
//	together, so each would be a batch                       TestKeysByPostAreNoBatch
//	a flush of 5,000 posts is at most 16 batches, and two
//	calls for each                                           TestAFlushIsAFewBatches
//	a foreign value blocks no other key                      TestForeignValue, TestForeignBatch
//	sums beyond 2^53 stay exact                              TestLargeSums
//	a lost Redis, and lost scripts, stop nothing             TestLostRedis
//	the error of an unreachable Redis has its class          TestAway
//	a call is sent once, on a Cluster too                    TestACallIsSentOnce
//
// Failure modes: deltas that Redis loses (a flush, a failover before replication) are lost. A
// failover that restores a delta which was moved aside and applied lets it be applied twice. A
// call without an answer may have been executed, and is not repeated (New refuses a client that
// does). Totals made from a driver.Source are not affected. Allow no eviction
// (maxmemory-policy noeviction), or pending deltas can be evicted.
package rediscounter
