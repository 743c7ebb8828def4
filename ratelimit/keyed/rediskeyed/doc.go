// Package rediskeyed keeps the limits of package keyed in Redis or a Redis Cluster, so
// that all processes share them.
//
//	store, err := rediskeyed.New(client, rediskeyed.Config{Name: "joins"})
//	…
//	limiter, err := keyed.New(store, keyed.Config{})
//
// One script decides up to 100 calls by Redis' own clock. It lies in lua/ as it runs. A
// key is {name}:key, of some 120 bytes. It expires when its burst is full again, so that
// only the keys used within their burst times their interval take memory. All keys of a
// name are in one slot of a Cluster.
//
//	property                                            proven by
//	burst at once, then one call in each interval, over
//	all processes, on Redis and a Cluster               TestRates
//	a key expires when its burst is full                TestRates
//	a key that comes twice in a call counts twice       TestRates
//	a client that repeats calls or waits is refused     TestNew
//
// # Failure modes
//
// Redis unreachable, slow, loading, read-only or out of memory: the call fails, and the
// limiter counts alone. After a loss of data, or a failover that loses the last writes,
// the keys have more of their burst again.
package rediskeyed
