// Package redisgate keeps the counters of front gates in Redis or a Redis
// Cluster, for all processes that serve an event.
//
//	store, err := redisgate.New(client, redisgate.Config{})
//
//	property                                             proven by
//	all that a store promises, on Redis and a Cluster    TestConformance
//	0 B are kept for a waiting visitor without a sign-in,
//	and under 120 B for a member                         TestMemory
//	a gate that is on stays, one that is off is kept
//	for 24 h                                             TestExpiry
//	a lost list of events comes back                     TestListHeals
//	many processes, one count                            TestManyGates
//	calls of a server that hangs or is unreachable fail
//	in time, as infrastructure                           TestAway
//	a client that repeats calls or waits is refused      TestNew
//
// Each call is one script, by Redis' own clock. The scripts lie in lua/ as they run, made
// of parts that they share (scripts/glue).
//
// # Keys
//
//	{event}:vwr  hash: epoch, on, assigned, serving, opened, advanced; under 300 B,
//	             without an expiry while the gate is on, and for 24 h after that
//	{event}:vwr:<epoch>  hash of positions by member, for 24 h after the last one
//	vwr:events   set of the events that have counters, in a slot of its own
//
// # Failure modes
//
// Redis unreachable, slow, loading, read-only or out of memory: calls fail with
// [fault.Infrastructure]. A call without an answer may have been carried out: the
// positions it gave out are lost, and the serving counter goes past them.
//
// Lost data (a flush, a restart without a file, a promotion of a replica that
// lagged): the epoch differs or is gone, and tickets of the old one are worth
// nothing. A replica that lagged and has the epoch may give positions out a second
// time, to at most as many visitors as it missed. Where that matters, use
// appendfsync always, and WAIT or min-replicas-to-write. The line behind the gate
// counts each position once.
package redisgate
